"""Recounts in responses, compared with the true one."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.reward.fidelity import Case
from pipeline.tasks.example import Example
from pipeline.tasks.grading import THINK_END
from pipeline.tom.claims.reader import LONGEST_RESPONSE
from pipeline.tom.observation import Chain
from pipeline.tom.recount import (
    UNKNOWN,
    Line,
    Written,
    believed_along,
    omitted,
    read_lines,
    truth,
)
from pipeline.tom.retelling import retell

_RECOUNT = 2
"""Lines that count as a recount by their form alone."""


@dataclass(frozen=True, slots=True)
class Recounted:
    """The recount of a response: its lines, if any, beside the true ones."""

    written: tuple[Written, ...] = ()
    told: tuple[Line, ...] = ()
    chain: Chain = ()

    @property
    def lines(self) -> tuple[Line, ...]:
        return tuple(each.line for each in self.written)

    @property
    def made(self) -> int:
        slots = sum(each.believed is not None for each in self.written)
        return sum(len(line.statements) for line in self.lines) + slots

    @property
    def true(self) -> int:
        along = believed_along(self.lines, self.told, self.chain)
        slots = sum(
            each.believed == (believed or UNKNOWN)
            for each, believed in zip(self.written, along, strict=True)
        )
        return sum(truth(self.lines, self.told)) + slots

    @property
    def omitted(self) -> int:
        """Number of omitted true statements; 0 for a recount of other places altogether."""
        places = {line.place for line in self.told}
        if not any(line.place in places for line in self.lines):
            return 0
        return omitted(self.lines, self.told)


def recounted(response: str, example: Example, case: Case) -> Recounted:
    """The recount in the reasoning of a response.

    A single line counts only if it names a place of the story: "Answer: Emma." has the form too.
    """
    reasoning = response[:LONGEST_RESPONSE].partition(THINK_END)[0]
    written = read_lines(reasoning)
    known = case.story.vocabulary.containers
    if len(written) < _RECOUNT and not any(each.line.place in known for each in written):
        return Recounted()
    retold = retell(example.benchmark, example.story, example.question)
    return Recounted(written) if retold is None else Recounted(written, retold.lines, retold.chain)


def without(response: str, found: Recounted) -> str:
    """A response with its recount blanked out, at the same length."""
    parts, done = list[str](), 0
    for each in found.written:
        parts += response[done : each.start], "\n" * (each.end - each.start)
        done = each.end
    return "".join([*parts, response[done:]])
