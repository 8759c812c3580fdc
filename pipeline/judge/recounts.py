"""The recount that a response makes, beside the true one of its story."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.reward.fidelity import Case
from pipeline.tasks.example import Example
from pipeline.tasks.grading import THINK_END
from pipeline.tom.claims.reader import LONGEST_RESPONSE
from pipeline.tom.recount import Line, Written, read_lines, truth
from pipeline.tom.retelling import retell

_RECOUNT = 2
"""Lines that are a recount by their form alone."""


@dataclass(frozen=True, slots=True)
class Recounted:
    """What a response recounts.

    Attributes:
        written: Its lines, with where they stand in the response; none where it recounts nothing.
        told: The lines of the true recount.
    """

    written: tuple[Written, ...] = ()
    told: tuple[Line, ...] = ()

    @property
    def lines(self) -> tuple[Line, ...]:
        """What the lines say."""
        return tuple(each.line for each in self.written)

    @property
    def made(self) -> int:
        """The number of statements."""
        return sum(len(line.statements) for line in self.lines)

    @property
    def true(self) -> int:
        """The number of true ones."""
        return sum(truth(self.lines, self.told))


def recounted(response: str, example: Example, case: Case) -> Recounted:
    """What the reasoning of a response recounts.

    Two lines are a recount, whatever they name; a single one is where it is about a place of the
    story: "Answer: Emma." has the form too.
    """
    reasoning = response[:LONGEST_RESPONSE].partition(THINK_END)[0]
    written = read_lines(reasoning)
    known = case.story.vocabulary.containers
    if len(written) < _RECOUNT and not any(each.line.place in known for each in written):
        return Recounted()
    retold = retell(example.benchmark, example.story, example.question)
    return Recounted(written, () if retold is None else retold.lines)


def without(response: str, found: Recounted) -> str:
    """A response with its recount blanked out, all else where it was."""
    parts, done = list[str](), 0
    for each in found.written:
        parts += response[done : each.start], "\n" * (each.end - each.start)
        done = each.end
    return "".join([*parts, response[done:]])
