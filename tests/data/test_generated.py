"""Stories of several shapes: drawn for each story, and a single shape costs no draw."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from pipeline.config.sources import HiTomSource
from pipeline.config.study import Study
from pipeline.config.study_files import find_study
from pipeline.data.generated import StoryRow, stories
from pipeline.formats.files import digest_of
from tests.conftest import TINY

# Digests of the first twenty stories with a single shape; data of every study rest on them.
PINNED = [
    ({"telling": "brief", "agents": 3, "small_names": True}, "75179db4df3e883b"),
    ({"chapters": 3, "tell": True, "noise": 0.3}, "a84643e77056d78c"),
    ({"chapters": 2, "telling": "prose", "seed": 4}, "e99ce3bf80ededa3"),
]


def source(**settings: Any) -> HiTomSource:
    return HiTomSource(kind="hi_tom_style", **settings)


def digest(**settings: Any) -> str:
    told = stories(source(**settings), "train", 20)
    return digest_of([[_asked(row) for row in rows] for rows in told])[:16]


def _asked(row: StoryRow) -> dict[str, object]:
    """What a model meets, and its gold answer; the rest is about them."""
    about = ("structure", "heeds_claim")
    return {key: value for key, value in row.items() if key not in about}


@pytest.mark.parametrize(("settings", "wanted"), PINNED)
def test_a_single_shape_gives_the_same_stories_as_ever(
    settings: dict[str, Any], wanted: str
) -> None:
    assert digest(**settings) == wanted
    listed = {k: [v] if k in ("chapters", "tell") else v for k, v in settings.items()}
    assert digest(**listed) == wanted


def test_several_shapes_are_drawn_about_equally() -> None:
    mixed = source(chapters=[1, 2, 3], tell=[True, False], noise=0.0)
    drawn = [story[0]["story"] for story in stories(mixed, "train", 300)]
    shapes = Counter((text.count(" entered the "), "told" in text) for text in drawn)
    assert {entries for entries, _ in shapes} == {2, 4, 6}  # each chapter, and after it
    assert len(shapes) == 6 and all(30 < count < 70 for count in shapes.values())
    assert drawn == [story[0]["story"] for story in stories(mixed, "train", 300)]


def test_params_say_a_single_value_as_the_study_does() -> None:
    assert source(chapters=2, tell=True).model_dump(mode="json")["chapters"] == 2
    mixed = source(chapters=[1, 3]).model_dump(mode="json")
    assert (mixed["chapters"], mixed["tell"]) == ([1, 3], False)
    study = find_study(TINY, "mini")
    assert Study.model_validate(study.model_dump(mode="json")) == study
