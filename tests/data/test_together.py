"""Counterfactual pairs stay whole, whatever a column asks for."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from pipeline.base.errors import UserError
from pipeline.config.data import Part
from pipeline.config.sources import HiTomSource
from pipeline.data.build import select
from pipeline.data.generated import pairs
from pipeline.data.together import draw, groups, whole_pairs
from pipeline.formats.files import write_lines
from pipeline.tasks.example import Example

TASK = "hi_tom_style_pairs"


def source(**settings: object) -> HiTomSource:
    fields = {"chapters": [1, 2], "tell": [True, False], "pairs": 30, **settings}
    return HiTomSource.model_validate({"kind": "hi_tom_style", **fields})


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("raw")
    write_lines(
        folder / "hi_tom_style" / "pairs.jsonl", (row for made in pairs(source()) for row in made)
    )
    return folder


def members(examples: list[Example]) -> set[int]:
    """How many members of each pair there are."""
    return set(Counter(example.meta["pair"] for example in examples).values())


def example(name: str, pair: str | None) -> Example:
    return Example("b", "t", name, "q", "a", meta={} if pair is None else {"pair": pair})


def test_a_pair_asks_the_same_of_two_stories(raw: Path) -> None:
    examples = select(raw, Part(task=TASK), seed=0)
    assert len(examples) == 2 * 30 * 5 and members(examples) == {2}
    for one, other in zip(examples[::2], examples[1::2], strict=True):
        assert (one.question, one.choices) == (other.question, other.choices)
        assert (one.meta["member"], other.meta["member"]) == ("observed", "hidden")
        assert one.story != other.story
        assert one.meta["differs"] == other.meta["differs"] == (one.answer != other.answer)


@pytest.mark.parametrize(
    "asked", [{"limit": 40}, {"fold": "train"}, {"orders": [2], "limit": 10}, {"fold": "test"}]
)
def test_columns_keep_pairs_whole(raw: Path, asked: dict[str, object]) -> None:
    examples = select(raw, Part.model_validate({"task": TASK, **asked}), seed=0)
    assert members(examples) == {2}
    assert len(examples) == asked.get("limit", len(examples))


def test_a_limit_that_would_part_a_pair_is_refused(raw: Path) -> None:
    with pytest.raises(UserError, match=r"limit: found 41; allowed: an even number"):
        select(raw, Part(task=TASK, limit=41), seed=0)


def test_one_member_alone_is_no_pair(raw: Path) -> None:
    with pytest.raises(UserError, match="0 fit"):
        select(raw, Part(task=TASK, where={"member": "observed"}), seed=0)


def test_a_column_can_ask_for_contrast(raw: Path) -> None:
    examples = select(raw, Part(task=TASK, where={"proof": "contrast"}), seed=0)
    assert examples and all(example.meta["differs"] for example in examples)
    some = source(proof="contrast", tell=True, pairs=5)
    rows = [row for made in pairs(some) for row in made]
    assert {row["proof"] for row in rows} == {"contrast"}


def test_a_source_without_contrast_says_so() -> None:
    with pytest.raises(UserError, match=r"pairs of hi_tom_style.*say proof: any"):
        next(pairs(source(proof="contrast", tell=False, chapters=1)))


def test_rows_alone_are_drawn_as_ever() -> None:
    alone = [example(str(number), None) for number in range(50)]
    chosen = sorted(Random("seed").sample(range(50), 20))
    assert draw(alone, 20, Random("seed")) == [alone[place] for place in chosen]
    assert whole_pairs(alone) == alone
    mixed = [example("x", "1"), example("y", None), example("z", "1"), example("w", "2")]
    assert groups(mixed) == [(0, 2), (1,), (3,)]
    assert [each.story for each in whole_pairs(mixed)] == ["x", "y", "z"]
