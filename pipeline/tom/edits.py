"""Edits of a recount after which it implies another belief."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from pipeline.tom.recount import Heard, Line, Seen, aligned, implied, truth
from pipeline.tom.retelling import Retold

Lines = tuple[Line, ...]

FALSIFIED, CORRECTED, DROPPED, EXCHANGED = "falsified", "corrected", "dropped", "exchanged"
"""A true line made false in one place, witness or trust; the truth put in place of a false line; a
line that another follows left out; the recount of another story, told of the agents and places of
this one."""


@dataclass(frozen=True, slots=True)
class Told:
    """A recount, true or not, beside the true one of its story."""

    lines: Lines
    story: Retold


@dataclass(frozen=True, slots=True)
class Edit:
    """An edited recount, and the place that it implies."""

    kind: str
    lines: Lines
    implied: str


def edits(
    told: Told, others: Sequence[Told], refused: Collection[str | None], random: Random
) -> list[Edit]:
    """An edit of each kind, where there is one that implies another belief.

    The implied place is never that of the last line, so copying it gets no edit right.

    Args:
        told: The recount.
        others: Recounts of other stories.
        refused: Places that do not count as another belief.
    """
    chain = told.story.chain
    before = implied(told.lines, chain)
    if before is None:
        return []
    found = list[Edit]()
    for kind, groups in _candidates(told, others).items():
        fitting = [
            [Edit(kind, lines, place) for lines in group if (place := implied(lines, chain))]
            for group in groups
        ]
        kept = [
            [e for e in group if e.implied not in (before, e.lines[-1].place, *refused)]
            for group in fitting
        ]
        if kept := [group for group in kept if group]:
            found.append(random.choice(random.choice(kept)))
    return found


def _candidates(told: Told, others: Sequence[Told]) -> Mapping[str, Sequence[Sequence[Lines]]]:
    """The possible edits by kind, in groups that are drawn with equal probability."""
    return {
        FALSIFIED: list(_falsified(told)),
        CORRECTED: [list(_corrected(told))],
        DROPPED: [[_with(told.lines, place) for place in range(len(told.lines) - 1)]],
        EXCHANGED: [[_exchanged(told, other) for other in others]],
    }


def _falsified(told: Told) -> Iterator[list[Lines]]:
    """Yield recounts with one false line: in its place, a witness or somebody's trust."""
    counts = truth(told.lines, told.story.lines)
    for change in (_elsewhere, _other_witnesses, _other_trust):
        group = list[Lines]()
        for place, (line, true) in enumerate(zip(told.lines, counts, strict=True)):
            if true and true == len(line.statements):
                group += (_with(told.lines, place, new) for new in change(line, told))
        yield [lines for lines in group if sum(truth(lines, told.story.lines)) < sum(counts)]


def _elsewhere(line: Line, told: Told) -> Iterator[Line]:
    return (replace(line, place=place) for place in told.story.places if place != line.place)


def _other_witnesses(line: Line, told: Told) -> Iterator[Line]:
    if isinstance(line, Seen):
        for changed in told.story.people:
            kept = (a for a in told.story.people if (a in line.witnesses) is not (a == changed))
            yield Seen(line.place, tuple(kept))


def _other_trust(line: Line, told: Told) -> Iterator[Line]:
    if isinstance(line, Heard):
        for changed, _ in line.hearers:
            yield replace(
                line, hearers=tuple((a, t is not (a == changed)) for a, t in line.hearers)
            )


def _corrected(told: Told) -> Iterator[Lines]:
    for place, (line, true) in enumerate(
        zip(told.lines, aligned(told.lines, told.story.lines), strict=True)
    ):
        if true is not None and set(line.statements) != set(true.statements):
            yield _with(told.lines, place, true)


def _exchanged(told: Told, other: Told) -> Lines:
    called = {
        name: ours[place % len(ours)]
        for theirs, ours in (
            (other.story.people, told.story.people),
            (other.story.places, told.story.places),
        )
        for place, name in enumerate(theirs)
    }
    return tuple(renamed(line, called) for line in other.lines)


def renamed(line: Line, called: Mapping[str, str]) -> Line:
    """A line with agents and places replaced; names without an entry stay."""
    place = called.get(line.place, line.place)
    if isinstance(line, Seen):
        return Seen(place, tuple(called.get(agent, agent) for agent in line.witnesses))
    hearers = tuple((called.get(agent, agent), trusts) for agent, trusts in line.hearers)
    return Heard(place, called.get(line.speaker, line.speaker), hearers)


def _with(lines: Lines, place: int, *instead: Line) -> Lines:
    return (*lines[:place], *instead, *lines[place + 1 :])
