"""Reasoning traces: writing true ones from the engine.

A trace names the belief of every inner chain before that of the chain asked, so that each
statement is a belief claim that the engine can check.
"""

from __future__ import annotations

from dataclasses import replace

from pipeline.tom.belief import Beliefs
from pipeline.tom.question import WhereQuestion
from pipeline.tom.recount import recount, written
from pipeline.tom.story import Story


def write_trace(question: WhereQuestion, beliefs: Beliefs) -> str:
    """True statements that lead to the answer, from the innermost agent outwards.

    For the chain (Ann, Bob): ``Bob thinks the fig is in the red_box. Ann thinks Bob thinks the fig
    is in the blue_jar.``
    """
    thing = question.object
    if not question.chain:
        return f"The {thing} is really in the {question.answer(beliefs)}."
    statements = []
    for start in reversed(range(len(question.chain))):
        chain = question.chain[start:]
        who = " ".join(f"{agent} thinks" for agent in chain)
        place = replace(question, chain=chain).answer(beliefs)
        statements.append(f"{who} the {thing} is in the {place}.")
    return " ".join(statements)


def write_recount(
    question: WhereQuestion, events: Story, beliefs: Beliefs, *, walk: bool = False
) -> str:
    """Who learned of each place of the object, in order, then the belief asked about.

    ``jar: Ann Ben Cara. box: Ben Cara. bag from Cara: Ben trusts. Ann doubts. Ann thinks Ben thinks
    the fig is in the jar.`` What a chain of agents believes can be read off: the last place that
    all of them saw together, unless one heard otherwise later.

    Args:
        question: What is asked.
        events: The story.
        beliefs: What everybody believes in it.
        walk: Whether each line is followed by what is believed by then.
    """
    thing, place = question.object, question.answer(beliefs)
    who = "".join(f"{agent} thinks " for agent in question.chain)
    believed = f"{who}the {thing} is in" if who else f"The {thing} is really in"
    lines = recount(question, events, beliefs)
    told = written(lines, question.chain if walk else None)
    return f"{told} {believed} the {place}."
