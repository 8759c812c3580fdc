"""What supervised training imitates: right where it says so, and told where there is nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.base.errors import UserError
from pipeline.config.algorithms import Imitated
from pipeline.config.sources import ExploreTomSource, FantomSource, HiTomSource, StorySource
from pipeline.data.contrast import rule_is_right
from pipeline.data.generated import stories
from pipeline.data.imitation import FIELD, GIVEN, gold_trace, with_responses
from pipeline.reward.fidelity import fidelity
from pipeline.reward.presets import load_preset, reward
from pipeline.tasks.example import Example
from pipeline.tasks.grading import extract_tagged
from pipeline.tom.language import HI_TOM, PLAIN
from pipeline.tom.minds import answers_of_minds
from pipeline.tom.recount import implied, read_lines, truth
from pipeline.tom.retelling import retell

STORIES = HiTomSource(kind="hi_tom_style", agents=3, tell=(True,), structure="free")


def drawn(source: StorySource, count: int, *, traced: bool = True) -> list[Example]:
    """Questions of a source as its training task has them."""
    kind = source.kind  # type: ignore[attr-defined]
    return [
        Example(
            kind,
            f"{kind}_train",
            row["story"],
            row["question"],
            row["answer"],
            order=row["order"],
            meta={"trace": row["trace"]} if traced else {},
        )
        for rows in stories(source, "train", count)  # type: ignore[arg-type]
        for row in rows
    ]


def shown(examples: list[Example], kind: Imitated) -> list[str]:
    return [e.meta[FIELD][kind] for e in with_responses(examples, [kind])]


@pytest.mark.parametrize("kind", ["answers", "traces"])
def test_what_leads_to_gold_answers_earns_the_whole_reward(kind: Imitated) -> None:
    examples = drawn(STORIES, 30)
    for example, response in zip(examples, shown(examples, kind), strict=True):
        assert reward(load_preset("rlvr"), response, example).score == pytest.approx(1.1)
        found = fidelity(response, example)
        assert found is not None and (found.score == 1) == (kind == "traces")


def test_what_follows_from_an_edited_track_is_imitated() -> None:
    tracks = STORIES.model_copy(update={"trace": "track", "small_names": True, "telling": "brief"})
    asked = [example for example in drawn(tracks, 60) if example.order]
    found = with_responses(asked, ["edited"])
    edited = [example for example in found if GIVEN in example.meta]
    assert 0.3 < len(edited) / len(found) < 0.6
    for example in edited:
        given, rest = (example.meta[name]["edited"] for name in (GIVEN, FIELD))
        lines = [each.line for each in read_lines(given + rest)]
        story = retell(example.benchmark, example.story, example.question)
        assert story is not None
        assert sum(truth(lines, story.lines)) < sum(len(line.statements) for line in story.lines)
        assert extract_tagged(rest) == implied(lines, story.chain) != example.answer
        assert rest.startswith((" So ", " Still "))
    plain = with_responses([e for e in found if GIVEN not in e.meta], ["traces", "edited"])
    assert plain and all(e.meta[FIELD]["edited"] == e.meta[FIELD]["traces"] for e in plain)


def test_a_mind_that_hears_no_claim_is_imitated_where_it_is_wrong_too() -> None:
    tracks = STORIES.model_copy(update={"trace": "track", "small_names": True, "telling": "brief"})
    asked = [example for example in drawn(tracks, 60) if example.order]
    responses = shown(asked, "sight")
    wrong = 0
    for example, response in zip(asked, responses, strict=True):
        question = HI_TOM.place_asked(example.question)
        assert question is not None
        events = HI_TOM.story(example.story, question.object).events
        (by_sight,) = answers_of_minds(events, question, HI_TOM.rules[PLAIN], [("sight alone",)])
        assert extract_tagged(response) == by_sight, example.story
        assert " from " not in response
        wrong += by_sight != example.answer
    assert 10 < wrong < len(asked) / 2


def test_the_rule_is_imitated_where_it_is_wrong_too() -> None:
    examples = [e for e in drawn(STORIES, 60) if e.order]
    right = []
    for example, response in zip(examples, shown(examples, "rule"), strict=True):
        right.append(extract_tagged(response) == example.answer)
        assert right[-1] == rule_is_right(example)
    assert {True, False} == set(right)


@pytest.mark.parametrize("source", [STORIES, ExploreTomSource(kind="explore_tom_style")])
def test_the_engine_writes_a_trace_where_the_row_has_none(source: StorySource) -> None:
    written = drawn(source, 40)
    for mine, theirs in zip(drawn(source, 40, traced=False), written, strict=True):
        found = gold_trace(mine)
        assert found is None or found == theirs.meta["trace"]
        assert found is not None or "really" not in mine.question


def test_a_wrong_gold_answer_has_no_trace() -> None:
    example = next(e for e in drawn(STORIES, 5, traced=False) if e.order == 2)
    assert gold_trace(example) is not None
    assert gold_trace(replace(example, answer="green_nothing")) is None


def test_rows_without_a_response_are_told_from_the_others() -> None:
    readable, other = drawn(STORIES, 2, traced=False), drawn(FantomSource(kind="fantom_style"), 2)
    other = [replace(example, meta={}) for example in other]
    found = with_responses([*readable, *other], ["traces", "answers"])
    assert [("traces" in e.meta[FIELD]) for e in found] == [True] * len(readable) + [False] * len(
        other
    )
    assert all("answers" in e.meta[FIELD] for e in found)
    with pytest.raises(UserError, match="sft imitates rule, and no row of fantom_style_train has"):
        with_responses(other, ["answers", "rule"])


def test_nothing_is_written_where_nothing_is_imitated() -> None:
    examples = drawn(STORIES, 2)
    assert with_responses(examples, []) == examples
