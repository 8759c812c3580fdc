"""``card.json``: what a person should know of a dataset before training on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Self

from pipeline.config.data import Split
from pipeline.config.params import DatasetEntry
from pipeline.records import Record
from pipeline.tasks.example import Example


class SetCard(Record):
    """One set of a dataset.

    Attributes:
        rows: Number of rows.
        stories: Number of stories.
        orders: Rows by belief order.
        benchmarks: Rows by benchmark.
        gold: Rows by where their gold answer comes from, for benchmarks whose own may be missing.
    """

    rows: int
    stories: int
    orders: dict[str, int]
    benchmarks: dict[str, int]
    gold: dict[str, int]

    @classmethod
    def of(cls, examples: Sequence[Example]) -> Self:
        """Count the examples of a set."""
        orders = Counter(example.order for example in examples)
        sources = (e.meta["gold_source"] for e in examples if "gold_source" in e.meta)
        return cls(
            rows=len(examples),
            stories=len({example.story_id for example in examples}),
            orders={str(order): orders[order] for order in sorted(orders, key=str)},
            benchmarks=dict(sorted(Counter(e.benchmark for e in examples).items())),
            gold=dict(Counter(map(str, sources))),
        )


class DatasetCard(Record):
    """One combination.

    Attributes:
        split: How its sets are kept apart.
        prompt: How its examples are put to the model.
        licences: The licence of every upstream source trained on.
        licence_note: Why restricted sources may be used.
        stories_shared: Stories that stand in both sets, by pair, such as ``train/validation``.
        sets: What is in each set.
    """

    split: Split
    prompt: str
    licences: dict[str, str]
    licence_note: str | None
    stories_shared: dict[str, int]
    sets: dict[str, SetCard]

    @classmethod
    def of(
        cls,
        entry: DatasetEntry,
        sets: Mapping[str, Sequence[Example]],
        licences: dict[str, str],
        shared: dict[str, int],
    ) -> Self:
        """Describe the sets of a combination."""
        return cls(
            split=entry.split,
            prompt=entry.prompt,
            licences=licences,
            licence_note=entry.licence_note,
            stories_shared=shared,
            sets={name: SetCard.of(examples) for name, examples in sets.items()},
        )
