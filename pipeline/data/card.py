"""``card.json``: what a person should know of a dataset, or of what a base model was shown."""

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
        rows: Number of rows.
        stories: Number of stories.
        orders: Rows by belief order.
        benchmarks: Rows by benchmark.
        orders_of: Rows by belief order, for each benchmark.
        gold: Rows by where their gold answer comes from, for benchmarks whose own may be missing.
        structures: Number of stories that differ in more than names, of those that can be read.
        unread: Rows of which no structure is known.
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
        """Count the examples of a set, whose origin is known already."""
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
    def read_of(cls, path: Path, key: str, entry: DatasetEntry) -> Self:
        """Read the card of a combination.

        Args:
            path: The file.
            key: The combination.
            entry: What it is made of.

        Raises:
            UserError: If it is missing, damaged, or of another study's combination.
        """
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
        """Describe the sets of a combination, drawn from acquired sources."""
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
"""What is known of the training of a model that others made."""


class BaseCard(RecordOfModel):
    """What a base model was shown before this study trained it.

    Attributes:
        note: What is known.
        shown: Its demonstrations; drills are of no task and not counted. None where nobody knows.
    """

    note: str
    shown: SetCard | None = None
