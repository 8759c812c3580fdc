"""Questions under other names: the same events and answer, other words, and by-heart shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.base.errors import UserError
from pipeline.config.sources import HiTomSource
from pipeline.data.generated import pairs, stories
from pipeline.data.other_names import under_other_names
from pipeline.judge.followers import Questions
from pipeline.tasks.example import Example
from pipeline.tom.language import get_language
from pipeline.tom.story import agents_of
from pipeline.tom.structure import structure_id

BRIEF = HiTomSource(
    kind="hi_tom_style",
    agents=3,
    structure="free",
    tell=True,
    telling="brief",
    small_names=True,
    pairs=20,
    proof="contrast",
)
UPSTREAM = HiTomSource(kind="hi_tom_style", tell=True)


def _examples(source: HiTomSource) -> list[Example]:
    return [
        Example(
            "hi_tom_style",
            "t",
            row["story"],
            row["question"],
            row["answer"],
            choices=tuple(row["choices"]),
            order=row["order"],
        )
        for rows in stories(source, "test", 40)
        for row in rows
        if row["order"] > 0
    ]


@pytest.mark.parametrize("source", [BRIEF, UPSTREAM], ids=["brief", "upstream"])
def test_the_engine_gives_the_renamed_answer(source: HiTomSource) -> None:
    examples = _examples(source)
    renamed = under_other_names(examples)
    language = get_language("hi_tom")
    before, after = ([language.story(e.story) for e in each] for each in (examples, renamed))
    assert list(map(_structure, before)) == list(map(_structure, after))
    assert [set(agents_of(s.events)) for s in before] == [set(agents_of(s.events)) for s in after]
    assert Questions.of(renamed).believed == tuple(e.answer for e in renamed)
    assert not {e.id for e in examples} & {e.id for e in renamed}
    assert not {e.story_id for e in examples} & {e.story_id for e in renamed}
    assert sum(a.answer != b.answer for a, b in zip(examples, renamed, strict=True)) > 0.6 * len(
        examples
    )
    assert [e.choices for e in examples] == [e.choices for e in renamed]


def _structure(story: object) -> str:
    return structure_id(story.events)  # type: ignore[attr-defined]


def test_pairs_stay_pairs_of_their_own() -> None:
    members = [
        Example("hi_tom_style", "t", r["story"], r["question"], r["answer"], meta={"pair": name})
        for name, rows in enumerate(pairs(BRIEF))
        for r in rows
    ]
    renamed = under_other_names(members)
    assert [a.meta["pair"] == b.meta["pair"] for a in members for b in members] == [
        a.meta["pair"] == b.meta["pair"] for a in renamed for b in renamed
    ]
    assert not {e.meta["pair"] for e in members} & {e.meta["pair"] for e in renamed}


def test_all_names_change_at_once() -> None:
    story = (
        "Ann and Ben entered the den.\nThe fig is in the red_box.\nBen moved the fig to the box."
        "\nAnn exited the den.\nBen moved the fig to the red_box."
    )
    [told] = under_other_names(
        [Example("hi_tom", "t", story, "Where does Ann think the fig is?", "box")]
    )
    assert told.story == (
        "Ben and Ann entered the den.\nThe fig is in the box.\nAnn moved the fig to the red_box."
        "\nBen exited the den.\nAnn moved the fig to the box."
    )
    assert (told.question, told.answer) == ("Where does Ben think the fig is?", "red_box")


@pytest.mark.parametrize("benchmark", ["fantom", "hi_tom"])
def test_what_cannot_be_read_is_refused(benchmark: str) -> None:
    example = replace(_examples(BRIEF)[0], benchmark=benchmark, story="Nobody knows.", task="mine")
    with pytest.raises(UserError, match="task mine: other names .* leave renamed out"):
        under_other_names([example])
