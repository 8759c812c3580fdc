"""Reasoning traces: writing true ones from the engine.

A trace names the belief of every inner chain before that of the chain asked, so that each
statement is a belief claim that the engine can check.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipeline.tom.belief import Beliefs
from pipeline.tom.observation import Chain
from pipeline.tom.question import WhereQuestion
from pipeline.tom.recount import Line, recount, walked
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
        walk: Whether the belief is looked up in words, line by line, before it is stated.
    """
    thing, place = question.object, question.answer(beliefs)
    who = "".join(f"{agent} thinks " for agent in question.chain)
    believed = f"{who}the {thing} is in" if who else f"The {thing} is really in"
    lines = recount(question, events, beliefs)
    looked_up = [_walk(lines, question.chain)] if walk else []
    return " ".join([*map(str, lines), *looked_up, f"{believed} the {place}."])


def _walk(lines: Sequence[Line], chain: Chain) -> str:
    """``jar so jar, box still jar.``: the first line sets the belief of the chain, the second not.

    Each line is followed by what the chain believes after it, so that no step looks further back
    than the step before.
    """
    steps = zip(lines, walked(lines, chain), strict=True)
    return (
        ", ".join(
            f"{line.place} {'so' if line.reaches(chain) else 'still'} {believed or 'unknown'}"
            for line, believed in steps
        )
        + "."
    )
