"""Responses whose reasoning can be edited such that another answer follows from it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.tasks.example import Example
from pipeline.tasks.grading import THINK_END
from pipeline.tom.edits import Told
from pipeline.tom.recount import BELIEVED, Line, implied, read_lines, written
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
        walks: Whether each line is followed by what is believed by then.
    """

    example: Example
    column: str
    told: Told
    lead: str
    rest: str
    answered: str | None
    walks: bool

    def begun(self, lines: Sequence[Line]) -> str:
        """How the response begins with another recount."""
        return self.lead + written(lines, self.told.story.chain if self.walks else None)


def read_reasoned(
    example: Example, column: str, response: str, answered: str | None
) -> Reasoned | None:
    """A response as one that can be edited; None where it cannot.

    Its reasoning must begin with a recount that implies an answer, with nothing in between but,
    after each line, what is believed by then.
    """
    reasoning, ended, _ = response.partition(THINK_END)
    found = read_lines(reasoning) if ended else ()
    if not found:
        return None
    lines, start = tuple(each.line for each in found), found[0].start
    walk, plain = (
        re.compile(" ".join(re.escape(str(line)) + after for line in lines)).match(reasoning, start)
        for after in (BELIEVED, "")
    )
    told, lead = walk or plain, reasoning[:start]
    if told is None or lead.strip():
        return None
    retold = retell(example.benchmark, example.story, example.question)
    if retold is None or implied(lines, retold.chain) is None:
        return None
    rest = reasoning[told.end() :]
    return Reasoned(example, column, Told(lines, retold), lead, rest, answered, told is walk)
