"""Learned rules: they find what answers follow, on other stories, and the same each time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest

from pipeline.audit.sets import learned_baseline, learned_from, set_audit
from pipeline.config.sources import HiTomSource
from pipeline.data.generated import pairs, stories
from pipeline.rules.learned import FOLDS, LearnedRule, cross_fitted, cross_fitted_list, folds_of
from pipeline.rules.reading import read_all
from pipeline.rules.surface import UNDEFINED, SurfaceQuestion, gold_places, surface_of
from pipeline.tasks.example import Example

SOURCE = HiTomSource(
    kind="hi_tom_style", agents=3, structure="free", tell=True, telling="brief", small_names=True
)


@cache
def examples(count: int = 300) -> tuple[Example, ...]:
    """Questions of the first and second order."""
    rows = [
        row for told in stories(SOURCE, "train", count) for row in told if row["order"] in (1, 2)
    ]
    return tuple(map(as_example, rows))


def as_example(row: Mapping[str, Any]) -> Example:
    asked = (row["story"], row["question"], row["answer"])
    meta = {"pair": row["pair"]} if "pair" in row else {}
    about = {"order": row["order"], "story_id": row["story"], "meta": meta}
    return Example("hi_tom_style", "hi_tom_style", *asked, **about)


@cache
def asked() -> tuple[SurfaceQuestion, ...]:
    return tuple(surface_of(read_all(examples())))


def agreement(said: Sequence[int], wanted: Sequence[int]) -> float:
    return float(np.mean(np.asarray(said) == np.asarray(wanted)))


def heard_else_exit(question: SurfaceQuestion) -> str | None:
    heard = question.picks["last claim heard by the innermost agent"]
    return heard or question.picks["earliest exit"]


def first_claim_else_start(question: SurfaceQuestion) -> str | None:
    return question.picks["first public claim"] or question.picks["initial"]


@pytest.mark.parametrize("follow", [heard_else_exit, first_claim_else_start])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_a_combination_that_nobody_listed_is_found(
    follow: Callable[[SurfaceQuestion], str | None], noise: float
) -> None:
    random = Random(1)
    clean = [question.place_of(follow(question)) for question in asked()]
    answers = [
        random.randrange(len(question.candidates)) if random.random() < noise else place
        for question, place in zip(asked(), clean, strict=True)
    ]
    fitted, readable = cross_fitted(asked(), answers), cross_fitted_list(asked(), answers)
    assert fitted is not None
    assert readable is not None
    assert agreement(fitted.answers, clean) > 0.93
    assert agreement(readable.answers, clean) > 0.98


def test_a_list_is_named_by_its_rules() -> None:
    answers = [question.place_of(first_claim_else_start(question)) for question in asked()]
    found = cross_fitted_list(asked(), answers)
    assert found is not None
    assert found.name == "first public claim, else initial"
    single = [question.place_of(question.picks["initial"]) for question in asked()]
    alone = cross_fitted_list(asked(), single)
    assert alone is not None
    assert (alone.name, agreement(alone.answers, single)) == ("initial", 1.0)


def test_answers_by_dice_are_explained_by_nothing() -> None:
    random = Random(2)
    answers = [random.randrange(len(question.candidates)) for question in asked()]
    chance = np.mean([1 / len(question.candidates) for question in asked()])
    for found in (cross_fitted(asked(), answers), cross_fitted_list(asked(), answers)):
        assert found is not None
        assert agreement(found.answers, answers) < chance + 0.08


def test_no_story_is_answered_by_a_fit_to_itself() -> None:
    folds = folds_of(asked())
    by_story: dict[str, set[int]] = {}
    for question, fold in zip(asked(), folds.tolist(), strict=True):
        by_story.setdefault(question.story, set()).add(fold)
    assert all(len(found) == 1 for found in by_story.values())
    assert set(folds.tolist()) == set(range(FOLDS))


def test_the_same_answers_give_the_same_rule() -> None:
    gold = gold_places(read_all(examples()))[1]
    first, again = cross_fitted(asked(), gold), cross_fitted(asked(), gold)
    assert first == again


def test_too_little_is_not_fitted() -> None:
    few = asked()[:50]
    assert cross_fitted(few, [0] * 50) is None, "four fifths of them are too few"
    assert cross_fitted_list(few, [0] * 50) is not None
    assert cross_fitted_list(few[1:], [0] * 49) is None
    unknown = [UNDEFINED] * len(asked())
    assert LearnedRule.fit(asked(), unknown) is None
    assert learned_baseline(read_all(examples()[:20])) is None


def test_what_is_unknown_is_no_answer_and_the_most_likely_candidate_is() -> None:
    wanted = [question.place_of(question.picks["last"]) for question in asked()]
    rule = LearnedRule.fit(asked(), [UNDEFINED if n % 7 == 0 else a for n, a in enumerate(wanted)])
    assert rule is not None
    assert agreement(rule.answers(asked()), wanted) > 0.98
    assert rule.answers([]) == []


def test_the_audit_has_learned_rules_of_a_set_and_of_training() -> None:
    readings = read_all(examples())
    found = learned_baseline(readings)
    assert found is not None
    listed = set_audit(examples()).baselines.best.accuracy
    assert found.accuracy > 0.8
    assert listed - 0.1 < found.readable_accuracy <= 1
    assert found.pairs is None
    rule = LearnedRule.fit(*gold_places(readings))
    assert rule is not None
    other = examples(400)[600:]
    shares = learned_from({"here": rule}, other)
    assert 0.75 < shares["here"] < 1
    assert set_audit(other, {"here": rule}).learned_from == shares


def test_both_stories_of_a_pair_lie_in_one_fold() -> None:
    source = SOURCE.model_copy(update={"pairs": 40, "proof": "contrast"})
    twins = [as_example(row) for both in pairs(source) for row in both]
    questions, _ = gold_places(read_all(twins))
    folds = folds_of(questions).tolist()
    assert all(one == other for one, other in zip(folds[::2], folds[1::2], strict=True))
    assert len(set(folds)) == FOLDS
    found = learned_baseline(read_all(twins))
    assert found is not None
    assert found.pairs is not None
    assert 0 <= found.pairs < found.accuracy + 0.2
