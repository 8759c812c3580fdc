"""Responses whose reasoning can be edited such that another answer follows from it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from pipeline.evaluate.claimed import Claimed, read_claimed
from pipeline.evaluate.tried import RESTATED
from pipeline.tasks.example import Example
from pipeline.tasks.grading import THINK_END
from pipeline.tom.edits import Lines, Told, edits
from pipeline.tom.recount import Written, implied, read_lines, written
from pipeline.tom.retelling import retell


@dataclass(frozen=True, slots=True)
class Recounting:
    """Reasoning that begins with a recount that implies an answer.

    Attributes:
        told: The recount.
        lead: What stands before it.
        parts: Its lines as they stand in the text; in a walk, each with what is believed by then.
        found: The same as they were read.
        rest: What stands after it, up to the end of the reasoning.
        walks: Whether it is a walk.
    """

    told: Told
    lead: str
    parts: tuple[str, ...]
    found: tuple[Written, ...]
    rest: str
    walks: bool

    @property
    def places(self) -> tuple[str, ...]:
        return self.told.story.places

    def edited(
        self, others: Sequence[Told], refused: Collection[str], random: Random
    ) -> Iterator[tuple[str, str, str]]:
        """Yield an edit of each kind: the kind, how the response begins then, the place implied.

        The recount of another story fits no walk, most of which the model is to write itself.
        """
        for each in edits(self.told, () if self.walks else others, refused, random):
            yield each.kind, self._begun(each.lines), each.implied

    def restated(self, refused: Collection[str], random: Random) -> Iterator[tuple[str, str, str]]:
        """Yield another place in what follows the recount, where that names one place."""
        words = self.rest.replace(".", " . ").split()
        named = {word for word in words if word in self.places}
        others = [place for place in self.places if place not in (*named, *refused)]
        if len(named) == 1 and others:
            (before,), instead = named, random.choice(others)
            rest = " ".join(
                instead + word[len(before) :] if word.rstrip(".") == before else word
                for word in self.rest.split(" ")
            )
            yield RESTATED, self.lead + " ".join(self.parts) + rest, instead

    def _begun(self, lines: Lines) -> str:
        """How the response begins with other lines.

        A walk ends right after the first line that is another: what is believed then, and all that
        follows, the model says itself.
        """
        if not self.walks:
            return self.lead + written(lines)
        pairs = zip(self.told.lines, lines, strict=False)
        cut = next(place for place, (old, new) in enumerate(pairs) if old != new)
        dropped = len(lines) < len(self.told.lines)
        return self.lead + " ".join([*self.parts[:cut], self.found[cut + dropped].told(lines[cut])])

    def stands(self, begun: str, after: str, place: str) -> bool:
        """Whether all that was written implies a place, and names another one in its last line."""
        lines = [each.line for each in read_lines(begun + after)]
        return implied(lines, self.told.story.chain) == place != lines[-1].place


@dataclass(frozen=True, slots=True)
class Reasoned:
    """A response whose reasoning can be edited.

    Attributes:
        example: The question.
        column: Its column of the suite.
        answered: What was answered.
        by: What its reasoning is.
    """

    example: Example
    column: str
    answered: str | None
    by: Recounting | Claimed


def read_reasoned(
    example: Example, column: str, response: str, answered: str | None
) -> Reasoned | None:
    """A response as one that can be edited; None where it cannot.

    Its reasoning must begin with a recount that implies an answer, with nothing in between but,
    after each line, what is believed by then. Or else it has no recount, and claims what is asked
    before its last sentence.
    """
    reasoning, ended, _ = response.partition(THINK_END)
    if not ended:
        return None
    by = _recounting(example, reasoning) or read_claimed(example, reasoning)
    return None if by is None else Reasoned(example, column, answered, by)


def _recounting(example: Example, reasoning: str) -> Recounting | None:
    found = read_lines(reasoning)
    retold = retell(example.benchmark, example.story, example.question)
    if not found or retold is None:
        return None
    lines = tuple(each.line for each in found)
    walks = all(each.believed is not None for each in found)
    parts = tuple(reasoning[each.start : each.after] for each in found)
    lead, told = reasoning[: found[0].start], " ".join(parts)
    rest = reasoning[len(lead) + len(told) :]
    mixed = not walks and any(each.believed is not None for each in found)
    if lead.strip() or mixed or reasoning != lead + told + rest:
        return None
    if implied(lines, retold.chain) is None:
        return None
    return Recounting(Told(lines, retold), lead, parts, found, rest, walks)
