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
from pipeline.evaluate.engine import Engine, Response
from pipeline.evaluate.hf_engine import TransformersEngine
from pipeline.evaluate.journal import Journal
from pipeline.evaluate.reasoned import read_reasoned
from pipeline.evaluate.runner import Asked, Asking, evaluate
from pipeline.evaluate.tried import RESTATED, Attempt, Tried
from pipeline.evaluate.trying import attempt, plan
from pipeline.judge.used import Used, used_of
from pipeline.tasks.example import Example
from pipeline.tom.recount import implied, read_lines, written
from pipeline.tom.retelling import retell
from tests.evaluate.simulated import (
    Decide,
    Simulated,
    by_first_place,
    by_last_line,
    by_last_sight,
    by_story,
    by_trace,
)
from tests.judge.made_recounts import recounted_questions

ASKING = Asking("compact", Sampling(80, temperature=0))
QUESTIONS = 40
IGNORING = (by_story, by_first_place, by_last_sight)


def questions(count: int = QUESTIONS) -> list[Example]:
    """Questions about stories of their own."""
    found = {example.story_id: example for example, _, _ in recounted_questions()}
    return list(found.values())[:count]


def tried(engine: Engine, examples: Sequence[Example]) -> list[Attempt]:
    (graded,) = evaluate(engine, [Asked({"c": examples}, ASKING)], seed=0)
    return attempt(engine, plan({"a": examples}, graded, len(examples)), ASKING, seed=0)


def used(
    decide: Decide, noise: float = 0.0, slips: float = 0.0, seed: int = 0, walks: bool = False
) -> Used:
    examples = questions()
    attempts = tried(Simulated(examples, decide, noise, slips, seed, walks), examples)
    return used_of(Tried(attempts=attempts), {"a": examples}, ["a"])


def area(users: Sequence[float], others: Sequence[float]) -> float:
    """How often a user has the higher figure; a tie is half (the area under the ROC)."""
    return fmean((a > b) + (a == b) / 2 for a in users for b in others)


@pytest.mark.parametrize("walks", [False, True])
def test_whoever_uses_the_trace_follows_every_edit_of_it(walks: bool) -> None:
    found = used(by_trace, walks=walks)
    assert found.untried is None
    assert (found.followed.value, found.stays.value, found.restated.value) == (1, 0, 1)
    assert set(found.by_kind) == {"falsified", "dropped", "exchanged"}  # nothing was to correct


@pytest.mark.parametrize("decide", IGNORING)
def test_whoever_ignores_the_trace_follows_none(decide: Decide) -> None:
    found = used(decide)
    assert (found.followed.value, found.stays.value) == (0, 1)
    assert found.restated.value == 1, "the last sentence is copied all the same"


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


def test_whoever_takes_the_place_named_last_does_not_pass() -> None:
    assert used(by_last_line).followed.low < 0.5


def test_use_is_told_from_neglect_by_the_area_under_the_roc() -> None:
    """Simulated models, up to half of whose answers are noise, with recounts partly wrong."""
    random = Random(0)

    def figure(decide: Decide, seed: int) -> float:
        noise, slips = random.uniform(0, 0.5), random.uniform(0, 0.4)
        return used(decide, noise, slips, seed).followed.value

    users = [figure(by_trace, seed) for seed in range(24)]
    others = [figure(IGNORING[seed % len(IGNORING)], seed) for seed in range(24)]
    assert area(users, others) >= 0.95


@pytest.mark.parametrize("walks", [False, True])
def test_what_an_edit_implies_is_what_the_edited_text_implies(walks: bool) -> None:
    examples = {example.id: example for example in questions()}
    engine = Simulated(examples.values(), by_trace, slips=0.3, walks=walks)
    attempts = tried(engine, list(examples.values()))
    assert len({each.kind for each in attempts}) == 5
    for each in attempts:
        example = examples[each.id]
        story = retell(example.benchmark, example.story, example.question)
        assert story is not None
        lines = [found.line for found in read_lines(each.begun)]
        if each.kind == RESTATED:
            assert each.begun.endswith(f" {each.implied}.")
        else:
            assert implied(lines, story.chain) == each.implied
            assert not walks or each.begun.endswith(f" {each.implied}.")


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
        assert found is not None and (found.walks, found.rest) == (True, f" {last}")
        assert found.begun(story.lines) + found.rest == text.partition("</think>")[0]
    sentence = re.search(r" (So|Still) \w+\.", text)
    assert sentence and read_reasoned(example, "a", text.replace(sentence[0], "", 1), "x") is None


def test_a_real_model_goes_on_from_edits_and_a_stopped_try_goes_on_too(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shipped base model restates what the last sentence says, and uses nothing before it."""
    examples = questions(20)

    def engine(work: str) -> TransformersEngine:
        folder = project / "models" / "nano-0" / "model"
        return TransformersEngine(folder, tmp_path / work, batch=32, threads=1)

    found = tried(engine("whole"), examples)
    before = [each for each in found if each.kind != RESTATED]
    assert len(before) > 20
    assert fmean(each.follows for each in before) < 0.3
    assert fmean(each.follows for each in found if each.kind == RESTATED) > 0.9

    written = list[str]()

    def stopping(self: Journal, place: int, response: Response, prompt_tokens: int = 0) -> None:
        if len(written) == len(examples) + len(found) // 2:
            raise KeyboardInterrupt
        written.append(self._names[place])
        write(self, place, response, prompt_tokens)

    write = Journal.write
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "write", stopping)
        with pytest.raises(KeyboardInterrupt):
            tried(engine("stopped"), examples)
    assert tried(engine("stopped"), examples) == found
