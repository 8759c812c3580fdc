"""``card.json``: contents of a dataset, or the training data of a base model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Self

from pipeline.config.data import Split
from pipeline.config.params import DatasetEntry
from pipeline.config.sources import Source
from pipeline.data.origin import Origin, Portion
from pipeline.formats.records import Record, RecordOfModel, refuse_foreign
from pipeline.tasks.example import Example


class SetCard(Record):
    """One set of a dataset.

    Attributes:
        orders_of: Rows by belief order, for each benchmark.
        gold: Rows by source of the gold answer, for benchmarks whose own may be missing.
        structures: Number of distinct structures among readable stories.
        unread: Rows of unknown structure.
        portions: Rows by source, task and order.
    """

    rows: int
    stories: int
    structures: int
    unread: int
    orders: dict[str, int]
    benchmarks: dict[str, int]
    orders_of: dict[str, dict[str, int]]
    gold: dict[str, int]
    portions: list[Portion]

    @classmethod
    def of(cls, examples: Sequence[Example], origin: Origin) -> Self:
        names = sorted({example.benchmark for example in examples})
        sources = (e.meta["gold_source"] for e in examples if "gold_source" in e.meta)
        return cls(
            rows=len(examples),
            stories=len({example.story_id for example in examples if example.story}),
            structures=len(origin.structures),
            unread=origin.unread,
            portions=origin.portions,
            orders=_by_order(examples),
            benchmarks=dict(sorted(Counter(e.benchmark for e in examples).items())),
            orders_of={n: _by_order([e for e in examples if e.benchmark == n]) for n in names},
            gold=dict(Counter(map(str, sources))),
        )


def _by_order(examples: Sequence[Example]) -> dict[str, int]:
    orders = Counter(example.order for example in examples)
    return {str(order): orders[order] for order in sorted(orders, key=str)}


class DatasetCard(Record):
    """One combination.

    Attributes:
        split: Rule that separates its sets.
        licence_note: Why restricted sources may be used.
        stories_shared: Stories in both sets, by pair, such as ``train/validation``.
    """

    split: Split
    prompt: str
    licences: dict[str, str]
    licence_note: str | None
    stories_shared: dict[str, int]
    sets: dict[str, SetCard]

    @classmethod
    def read_of(cls, path: Path, key: str, entry: DatasetEntry) -> Self:
        """Read the card of the combination ``key``; UserError unless it matches ``entry``."""
        made_by = f"dataset@{key}"
        found = cls.read(path, made_by)
        refuse_foreign(path, "prompt", [found.prompt], [entry.prompt], made_by)
        refuse_foreign(path, "split", [found.split], [entry.split], made_by)
        refuse_foreign(path, "sets", found.sets, ("train", "validation"), made_by)
        return found

    @classmethod
    def of(
        cls,
        entry: DatasetEntry,
        sets: Mapping[str, Sequence[Example]],
        licences: dict[str, str],
        shared: dict[str, int],
        acquired: Iterable[Source],
    ) -> Self:
        sources = tuple(acquired)
        return cls(
            split=entry.split,
            prompt=entry.prompt,
            licences=licences,
            licence_note=entry.licence_note,
            stories_shared=shared,
            sets={
                name: SetCard.of(examples, Origin.of(examples, sources))
                for name, examples in sets.items()
            },
        )


NOT_KNOWN = "not known beyond its name"
"""The note on models with undocumented training data."""


class BaseCard(RecordOfModel):
    """Training data of a base model, as documented; ``shown`` has demonstrations without drills."""

    note: str
    shown: SetCard | None = None
