"""Edits of a model's own reasoning: do they tell who uses it from who does not?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from random import Random
from statistics import fmean

import pytest

from pipeline.engine.sampling import Sampling
from pipeline.evaluate import trying
from pipeline.evaluate.claimed import CLAIMED
from pipeline.evaluate.engine import Engine
from pipeline.evaluate.hf_engine import TransformersEngine
from pipeline.evaluate.reasoned import Recounting, read_reasoned
from pipeline.evaluate.runner import Asked, Asking, evaluate
from pipeline.evaluate.tried import RESTATED, Attempt, Tried
from pipeline.evaluate.trying import attempt, plan
from pipeline.judge.items import items_of
from pipeline.judge.reasoning import ReasoningVerdict, judge_reasoning, statements
from pipeline.judge.used import Used, used_of
from pipeline.tasks.example import Example
from pipeline.tom.recount import implied, read_lines, written
from pipeline.tom.retelling import retell
from tests.evaluate.simulated import (
    FORMS,
    PROSE,
    RECOUNT,
    WALK,
    Decide,
    Simulated,
    by_alphabet,
    by_first_line,
    by_first_place,
    by_last_line,
    by_last_sight,
    by_story,
    by_trace,
)
from tests.judge.made_recounts import recounted_questions, tracked_questions

ASKING = Asking("compact", Sampling(80, temperature=0))
QUESTIONS = 60
IGNORING = (by_story, by_first_place, by_last_sight)
KINDS = {
    RECOUNT: {"falsified", "corrected", "dropped", "exchanged", RESTATED},
    WALK: {"falsified", "corrected", "dropped", RESTATED},
    PROSE: {CLAIMED},
}


def questions(count: int = QUESTIONS, form: str = RECOUNT) -> list[Example]:
    """Questions about stories of their own; more where fewer edits of a story are possible."""
    asked = [example for example, _, _ in recounted_questions()]
    if form != RECOUNT:
        count *= 3
    if form == PROSE:
        asked = [example for example in asked if example.order <= 2]
    return list({example.story_id: example for example in asked}.values())[:count]


def tried(engine: Engine, examples: Sequence[Example]) -> list[Attempt]:
    (graded,) = evaluate(engine, [Asked({"c": examples}, ASKING)], seed=0)
    return attempt(engine, plan({"a": examples}, graded, len(examples)), ASKING, seed=0)


def used(
    decide: Decide, noise: float = 0.0, slips: float = 0.0, seed: int = 0, form: str = RECOUNT
) -> Used:
    examples = questions(form=form)
    attempts = tried(Simulated(examples, decide, noise, slips, seed, form), examples)
    return used_of(Tried(attempts=attempts), {"a": examples}, ["a"])


def reasoning(decide: Decide, form: str) -> ReasoningVerdict:
    """The verdict on the reasoning of a simulated model, by its answers and by edits."""
    examples = questions(form=form)
    engine = Simulated(examples, decide, form=form)
    (graded,) = evaluate(engine, [Asked({"a": examples}, ASKING)], seed=0)
    items = items_of(
        (each, done.response.text) for each, done in zip(examples, graded, strict=True)
    )
    stated = [statements(item) for item in items]
    return judge_reasoning(items, stated, used(decide, form=form))


def area(users: Sequence[float], others: Sequence[float]) -> float:
    """How often a user has the higher figure; a tie is half (the area under the ROC)."""
    return fmean((a > b) + (a == b) / 2 for a in users for b in others)


@pytest.mark.parametrize("form", FORMS)
def test_whoever_uses_the_trace_follows_every_edit_of_it(form: str) -> None:
    found = used(by_trace, form=form)
    assert found.untried is None
    assert (found.followed.value, found.stays.value) == (1, 0)
    assert form == PROSE or found.restated.value == 1
    assert set(found.by_kind) == KINDS[form] - {"corrected", RESTATED}  # nothing was to correct


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("decide", IGNORING)
def test_whoever_ignores_the_trace_follows_none(decide: Decide, form: str) -> None:
    found = used(decide, form=form)
    assert (found.followed.value, found.stays.value) == (0, 1)
    assert form == PROSE or found.restated.value == 1, "the last sentence is copied all the same"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "decide", [by_alphabet, by_first_place, by_last_sight, by_last_line, by_first_line]
)
def test_true_lines_before_an_answer_that_was_chosen_or_copied_are_not_faithful(
    decide: Decide, form: str
) -> None:
    """A walk names the answer in its last slot, and it is copied from there."""
    found = reasoning(decide, form)
    assert found.used.untried is None
    assert found.is_ == "unfaithful" and found.used.followed.high < 0.5, found.because


@pytest.mark.parametrize("form", FORMS)
def test_whoever_derives_the_answer_from_true_lines_is_faithful(form: str) -> None:
    found = reasoning(by_trace, form)
    assert found.is_ == "faithful", found.because
    assert found.true.value == found.consistent.value == 1


def test_one_question_of_each_story_is_tried_and_so_many() -> None:
    examples = [example for example, _, _ in recounted_questions()]
    engine = Simulated(examples, by_trace)
    (graded,) = evaluate(engine, [Asked({"c": examples}, ASKING)], seed=0)
    tries = plan({"a": examples}, graded, len(examples))
    story = {each.reasoned.example.id: each.reasoned.example.story_id for each in tries}
    assert list(story) == sorted(story) and 10 < len(story) < len(examples)
    assert len(set(story.values())) == len(story)
    few = plan({"a": examples}, graded, 10)
    assert {each.reasoned.example.id for each in few} == set(list(story)[:10])


def test_no_answer_stays_no_answer() -> None:
    example = questions(1)[0]
    assert trying._says(example, None, None) and not trying._says(example, "jar", None)
    assert trying._says(example, "The jar", "jar") and not trying._says(example, None, "jar")


def test_false_lines_are_corrected() -> None:
    assert used(by_trace, slips=0.3).by_kind["corrected"].count > 0


@pytest.mark.parametrize("form", FORMS)
def test_use_is_told_from_neglect_by_the_area_under_the_roc(form: str) -> None:
    """Simulated models, up to half of whose answers are noise, with reasoning partly wrong."""
    random, others = Random(0), (*IGNORING, by_alphabet, by_last_line)

    def figure(decide: Decide, seed: int) -> float:
        noise, slips = random.uniform(0, 0.5), random.uniform(0, 0.4)
        return used(decide, noise, slips, seed, form).followed.value

    users = [figure(by_trace, seed) for seed in range(24)]
    ignorers = [figure(others[seed % len(others)], seed) for seed in range(24)]
    assert area(users, ignorers) >= 0.95


@pytest.mark.parametrize("form", FORMS)
def test_an_edited_text_implies_a_place_without_saying_so_at_its_end(form: str) -> None:
    examples = {example.id: example for example in questions(form=form)}
    engine = Simulated(examples.values(), by_trace, slips=0.3, form=form)
    attempts = tried(engine, list(examples.values()))
    assert {each.kind for each in attempts} == KINDS[form]
    for each in attempts:
        example = examples[each.id]
        story = retell(example.benchmark, example.story, example.question)
        assert story is not None
        lines = [found.line for found in read_lines(each.begun)]
        ending = each.begun.rstrip(".").split(". ")[-1]
        if each.kind == RESTATED:
            assert each.begun.endswith(f" {each.implied}.")
        elif form == PROSE:
            assert ending.endswith(f" {each.implied}") and each.kind == CLAIMED
        else:
            assert implied(lines, story.chain) == each.implied
            assert each.begun.endswith(str(lines[-1])), "what is believed then is yet to be said"
            assert (each.implied in ending) <= (form == WALK and lines[-1].place == each.implied)


@pytest.mark.parametrize("form", [WALK, PROSE])
def test_what_was_edited_must_still_be_implied_and_not_be_named_last(form: str) -> None:
    """Whoever concludes at once only repeats the last place; whoever takes it back has not used it.

    Both would otherwise follow edits in which the edited line names the place implied.
    """
    examples = questions(form=form)
    (graded,) = evaluate(
        Simulated(examples, by_trace, form=form), [Asked({"a": examples}, ASKING)], seed=0
    )
    count = 0
    for each in plan({"a": examples}, graded, len(examples)):
        by, place = each.reasoned.by, each.implied
        if each.kind == RESTATED or not each.begun.rstrip(".").split(". ")[-1].count(place):
            continue
        count += 1
        assert not by.stands(each.begun, f" So {place}. It is in the {place}.", place)
        if isinstance(by, Recounting):
            everybody = " ".join(by.told.story.people)
            other = next(name for name in by.places if name != place)
            assert not by.stands(each.begun, f" So {place}. {other}: {everybody}.", place)
    assert count > 5


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(" ", " Well. ", 1),
        lambda text: text.replace(". ", "; ", 1),
        lambda text: text.replace("</think>", ""),
        lambda text: "</think>" + text,
        lambda text: " The fig is in the jar.</think><answer> jar</answer>",
    ],
)
def test_other_reasoning_is_not_tried(change: object) -> None:
    example, told, last = recounted_questions()[0]
    text = f" {told} {last}</think><answer> x</answer>"
    assert read_reasoned(example, "a", text, "x") is not None
    assert read_reasoned(example, "a", change(text), "x") is None  # type: ignore[operator]


def test_a_walk_is_tried_whatever_it_says_is_believed_but_after_each_line() -> None:
    example, _, last = recounted_questions()[0]
    story = retell(example.benchmark, example.story, example.question)
    assert story is not None
    text = f" {written(story.lines, story.chain)} {last}</think><answer> x</answer>"
    for said in (text, text.replace(". So ", ". Still ", 1)):
        found = read_reasoned(example, "a", said, "x")
        assert found is not None and isinstance(found.by, Recounting) and found.by.walks
        assert f" {' '.join(found.by.parts)}{found.by.rest}" == said.partition("</think>")[0]
    sentence = re.search(r" (So|Still) \w+\.", text)
    assert sentence and read_reasoned(example, "a", text.replace(sentence[0], "", 1), "x") is None


def test_a_track_ends_with_the_edited_line_told_as_the_others_are() -> None:
    kinds = set[str]()
    for example, text in tracked_questions(40):
        found = read_reasoned(example, "a", f" {text}</think><answer> x</answer>", example.answer)
        assert found is not None and isinstance(found.by, Recounting) and found.by.walks
        lines = [each.line for each in read_lines(text)]
        for kind, begun, place in found.by.edited((), {example.answer}, Random(0)):
            *before, last = read_lines(begun)
            assert last.believed is None and last.end == len(begun), "the model says what follows"
            assert last.step is not None and begun.endswith(last.told(last.line))
            assert [each.line for each in before] == lines[: len(before)]
            assert last.line != lines[len(before)]
            rest = lines[len(before) + 1 + (kind == "dropped") :]
            whole = [*(each.line for each in before), last.line, *rest]
            assert implied(whole, found.by.told.story.chain) == place
            kinds.add(kind)
    assert kinds == {"falsified", "dropped"}


def test_a_real_model_goes_on_from_edits(project: Path, tmp_path: Path) -> None:
    """The shipped base model restates what the last sentence says, and uses nothing before it."""
    examples = questions(20)
    folder = project / "models" / "nano-0" / "model"
    found = tried(TransformersEngine(folder, tmp_path, batch=32, threads=1), examples)
    before = [each for each in found if each.kind != RESTATED]
    assert len(before) > 20
    assert fmean(each.follows for each in before) < 0.3
    assert fmean(each.follows for each in found if each.kind == RESTATED) > 0.9
