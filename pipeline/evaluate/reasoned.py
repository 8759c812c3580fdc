"""Responses whose reasoning can be edited such that another answer follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.tasks.example import Example
from pipeline.tasks.grading import THINK_END
from pipeline.tom.edits import Told
from pipeline.tom.recount import Line, implied, read_lines
from pipeline.tom.retelling import retell


@dataclass(frozen=True, slots=True)
class Reasoned:
    """A response whose reasoning begins with a recount that implies an answer.

    Attributes:
        example: The question.
        column: Its column of the suite.
        told: The recount.
        lead: What stands before it.
        rest: What stands after it, up to the end of the reasoning.
        answered: What was answered.
    """

    example: Example
    column: str
    told: Told
    lead: str
    rest: str
    answered: str | None


def read_reasoned(
    example: Example, column: str, response: str, answered: str | None
) -> Reasoned | None:
    """A response as one that can be edited; None where it cannot.

    Its reasoning must begin with a recount, without anything in between, that implies an answer.
    """
    reasoning, ended, _ = response.partition(THINK_END)
    written = read_lines(reasoning) if ended else ()
    if not written:
        return None
    lines = tuple(each.line for each in written)
    lead, end = reasoning[: written[0].start], written[-1].end
    retold = retell(example.benchmark, example.story, example.question)
    if lead.strip() or reasoning[:end] != lead + as_text(lines) or retold is None:
        return None
    if implied(lines, retold.chain) is None:
        return None
    return Reasoned(example, column, Told(lines, retold), lead, reasoning[end:], answered)


def as_text(lines: Sequence[Line]) -> str:
    """A recount as it is written."""
    return " ".join(map(str, lines))
