"""Responses whose reasoning can be edited such that another answer follows from it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pipeline.tasks.example import Example
from pipeline.tasks.grading import THINK_END
from pipeline.tom.edits import Told
from pipeline.tom.recount import Line, implied, read_lines, written
from pipeline.tom.retelling import retell

_BELIEVED = re.compile(r" (?:So|Still) [\w'-]+\.")


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
    retold = retell(example.benchmark, example.story, example.question) if found else None
    if retold is None:
        return None
    lines = tuple(each.line for each in found)
    lead, end = reasoning[: found[0].start], found[-1].end
    between = [reasoning[one.end : other.start] for one, other in pairwise(found)]
    walked = _BELIEVED.match(reasoning, end)
    walks = walked is not None and all(
        _BELIEVED.fullmatch(gap.removesuffix(" ")) for gap in between
    )
    as_written = all(reasoning[each.start : each.end] == str(each.line) for each in found)
    if lead.strip() or not as_written or not (walks or set(between) <= {" "}):
        return None
    if implied(lines, retold.chain) is None:
        return None
    end = walked.end() if walks and walked else end
    return Reasoned(example, column, Told(lines, retold), lead, reasoning[end:], answered, walks)
