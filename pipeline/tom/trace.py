"""Writing true reasoning traces from the engine.

A trace names the belief of every inner chain before that of the chain asked, so that each statement
is a belief claim that the engine can check.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from pipeline.tom.belief import Beliefs
from pipeline.tom.edits import Told, edits
from pipeline.tom.question import WhereQuestion
from pipeline.tom.recount import (
    IN,
    OUT,
    Line,
    Step,
    number,
    read_lines,
    recount,
    said_between,
    timed,
    written,
)
from pipeline.tom.retelling import Retold
from pipeline.tom.story import WAITING_ROOM, Enter, Event, Exit, Story, agents_of


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
    """The recount (with ``walk``, a walk), then the belief asked about.

    ``jar: Ann Ben Cara. box: Ben Cara. bag from Cara: Ben trusts. Ann doubts. Ann thinks Ben thinks
    the fig is in the jar.`` A chain believes in the last place that all of them saw together,
    unless one heard otherwise later.
    """
    lines = recount(question, events, beliefs)
    told = written(lines, question.chain if walk else None)
    return f"{told} {_conclusion(question, question.answer(beliefs))}"


def write_track(question: WhereQuestion, events: Story, beliefs: Beliefs) -> str:
    """A walk that names everybody in each line, and says who leaves and who comes back.

    ``one jar: Ann in Ben in. So jar. two Ann two. three Ben three. four bag from Ben three to all:
    Ann two trusts Ben three says. So bag. ...`` Those present are ``in``, others have the number of
    the step at which they left. So each word follows from one sentence of the story or from the
    agent's last state, and agents who left before a speaker trust them. Agents asked about are
    named first.
    """
    told = timed(question, events, beliefs)
    return f"{_track(question, events, told)} {_conclusion(question, question.answer(beliefs))}"


@dataclass(frozen=True, slots=True)
class EditedTrack:
    """A track that is false at one line.

    Attributes:
        begun: Up to the end of that line.
        rest: The story's other sentences, and what follows from all that has been said.
        answer: What follows in the end.
    """

    begun: str
    rest: str
    answer: str


def write_edited_track(
    question: WhereQuestion, events: Story, beliefs: Beliefs, random: Random
) -> EditedTrack | None:
    """A track with one false line, or one less; None where no such edit changes the answer."""
    told = timed(question, events, beliefs)
    lines = tuple(line for _, line in told)
    places = tuple(dict.fromkeys(line.place for line in lines))
    story = Retold(lines, question.chain, agents_of(events), places)
    found = edits(Told(lines, story), (), (), random)
    if not found:
        return None
    chosen = random.choice(found)
    edited = chosen.lines
    beside = zip(lines, edited, strict=False)
    cut = next((place for place, (old, new) in enumerate(beside) if old != new), len(edited) - 1)
    instead: tuple[Line | None, ...] = edited
    if len(edited) < len(lines):
        instead = (*edited[:cut], None, *edited[cut:])
    moments = (moment for moment, _ in told)
    text = _track(question, events, list(zip(moments, instead, strict=True)))
    end = read_lines(text)[cut].end
    answer = chosen.implied
    return EditedTrack(text[:end], f"{text[end:]} {_conclusion(question, answer)}", answer)


def _track(question: WhereQuestion, events: Story, told: Sequence[tuple[int, Line | None]]) -> str:
    return " ".join(_sentences(question, events, told))


def _sentences(
    question: WhereQuestion, events: Story, told: Sequence[tuple[int, Line | None]]
) -> Iterator[str]:
    """Yield the sentences of a track of lines and their moments; for None, a line is left out."""
    chain, people = question.chain, agents_of(events)
    since = dict.fromkeys((*chain, *(agent for agent in people if agent not in chain)), OUT)
    lines = [line for _, line in told if line is not None]
    slots, steps = said_between(lines, chain), 0
    for moment, event in enumerate(events):
        here = [line for when, line in told if when == moment]
        crossing = _crossing(event, since)
        steps += bool(here or crossing)
        for agent in crossing:
            since[agent] = number(steps) if isinstance(event, Exit) else IN
            yield f"{number(steps)} {agent} {since[agent]}."
        if isinstance(event, Enter) and event.room != WAITING_ROOM:
            since.update(dict.fromkeys(event.agents, IN))
        for line in (line for line in here if line is not None):
            step = Step(number(steps), tuple(since.items()))
            since.update(step.after(line))
            yield f"{step.told(line)} {next(slots)}"


def _crossing(event: Event, since: Mapping[str, str]) -> tuple[str, ...]:
    match event:
        case Exit(agent) if since.get(agent) == IN:
            return (agent,)
        case Enter(agents, room) if room != WAITING_ROOM:
            return tuple(agent for agent in agents if since[agent] not in (IN, OUT))
    return ()


def _conclusion(question: WhereQuestion, place: object) -> str:
    who = "".join(f"{agent} thinks " for agent in question.chain)
    believed = f"{who}the {question.object} is in" if who else f"The {question.object} is really in"
    return f"{believed} the {place}."
