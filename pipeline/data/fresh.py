"""Fresh questions of generated tasks, without end, that no rule solves.

Each block of stories keeps the questions that learned rules do not solve
(:mod:`pipeline.data.hard`), balanced by belief order and by the earliest-exit rule: over several
blocks a learned rule finds more than in each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import chain, count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from pydantic import Field

from pipeline.base.errors import UserError
from pipeline.config.section import Section
from pipeline.config.sources import GeneratedSource
from pipeline.data.contrast import contrasting, rule_is_right
from pipeline.data.generated import stories
from pipeline.data.hard import hard_ones
from pipeline.data.prompt import Maker
from pipeline.formats.files import write_lines
from pipeline.rules.learned import FEWEST
from pipeline.tasks import registry
from pipeline.tasks.example import Example

BLOCK = 6000
"""Stories in a block: a smaller one teaches learned rules too little to filter by."""


class Drawn(Section):
    """A task to train on, its generator, and belief orders to ask about (None: all)."""

    task: str
    source: GeneratedSource = Field(discriminator="kind")
    orders: tuple[int, ...] | None = None


def fresh(drawn: Sequence[Drawn], seed: int, block: int = BLOCK) -> Iterator[Example]:
    """Yield questions about stories of training structures, without end, reproducibly.

    Each task gives a block of stories in turn, its questions in random order. It is a UserError if
    rules solve nearly all of a block.
    """
    for number in count():
        for each in drawn:
            purpose = f"fresh:{seed}:{number}"
            random = Random(f"{each.source.seed}:{purpose}")
            found = _chosen(_asked(each, purpose, block), random)
            if len(found) < FEWEST:
                raise UserError(
                    f"task {each.task}: rules solve all questions of {block} stories but "
                    f"{len(found)}, too few to learn from; let more happen in them (tell: true, "
                    "structure: free), or draw another task"
                )
            yield from random.sample(found, len(found))


def _chosen(examples: list[Example], random: Random) -> list[Example]:
    right = {example.id: rule_is_right(example) for example in examples}
    kinds = [(example.order, right[example.id]) for example in examples]
    hard = hard_ones(examples, kinds, random)
    left = {(example.order, right[example.id]) for example in hard}
    both = {order for order, _ in left if {(order, True), (order, False)} <= left}
    chosen = [example for example in hard if example.order in both]
    return contrasting(chosen, "half", None, random, hard=True) if chosen else []


def _asked(drawn: Drawn, purpose: str, block: int) -> list[Example]:
    """The questions of a block of stories, written as acquired ones are and read by their task."""
    task = registry.get(drawn.task)
    told = stories(drawn.source, purpose, block)
    with TemporaryDirectory() as raw:
        write_lines(Path(raw) / task.sources[0] / "train.jsonl", chain.from_iterable(told))
        found = task.examples(Path(raw))
    return [each for each in found if drawn.orders is None or each.order in drawn.orders]


def as_row(example: Example, prompt: Maker) -> dict[str, object]:
    """A question as JSON, with its prompt."""
    return {"prompt": prompt(example), "example": asdict(example) | {"meta": dict(example.meta)}}
