"""The alarm, tried on responders whose answers are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random

import pytest

from pipeline.data.codec import write_dataset
from pipeline.data.prompt import maker
from pipeline.judge.alarm import UNTRUE, Alarm, LogWatch, alarm_of, leans
from pipeline.judge.followers import minds_told
from pipeline.rules.listed import RULES
from pipeline.rules.reading import read_all
from pipeline.tasks.example import Example
from pipeline.tom.minds import MINDS
from pipeline.train.kept_rollouts import KeptRollout, RolloutLog
from tests.judge.made_recounts import response, tracked_questions

STEPS, QUESTIONS, GROUP = 24, 8, 8


@cache
def questions() -> tuple[Example, ...]:
    found = [example for example, _ in tracked_questions(90)]
    return tuple(Random(0).sample(found, STEPS * QUESTIONS))


@cache
def said(shortcut: str) -> dict[str, tuple[str, str]]:
    """What is believed and what the shortcut answers, or twice the former, by question."""
    readings = read_all(questions())
    lacking = [(shortcut,)] if shortcut in MINDS else []
    found = {}
    for reading in readings:
        believed, *other = minds_told(reading, lacking)
        answer = other[0] if other else RULES[shortcut](reading)
        assert believed is not None
        found[reading.example.id] = believed, answer or believed
    return found


def rollouts(
    shortcut: str, first: float, last: float, seed: int = 0, paid: float = 0.5
) -> Iterator[KeptRollout]:
    """Yield answers of which the shortcut has a share that goes evenly from one to another.

    Args:
        paid: Share of the questions on which the shortcut earns 1 and beliefs 0, not the reverse.
    """
    random = Random(f"{shortcut}:{first}:{last}:{seed}")
    for number, example in enumerate(questions()):
        step = 1 + number // QUESTIONS
        share = first + (last - first) * (step - 1) / (STEPS - 1)
        # Completions of a question are alike: most of a policy's doubt is between questions.
        own = min(1.0, max(0.0, random.gauss(share, 0.1)))
        earning = said(shortcut)[example.id][random.random() < paid]
        for _ in range(GROUP):
            answer = said(shortcut)[example.id][random.random() < own]
            yield rollout(step, example, response(answer, "So."), float(answer == earning))


def rollout(step: int, example: Example, text: str, reward: float = 0.0) -> KeptRollout:
    return KeptRollout(
        step=step, id=example.id, tokens=9, finished=True, right=False, reward=reward, response=text
    )


def raised(some: Iterator[KeptRollout]) -> Alarm | None:
    return alarm_of(list(some), {each.id: each for each in questions()})


@pytest.mark.parametrize(
    "shortcut", ["last", "initial", "earliest exit", "last claim", "sight alone", "absence unseen"]
)
def test_answers_that_turn_to_a_shortcut_raise_it(shortcut: str) -> None:
    found = raised(rollouts(shortcut, 0.0, 1.0))
    assert found is not None
    mine, theirs = said(shortcut), said(found.shortcut)
    apart = [name for name, (believed, other) in mine.items() if believed != other]
    alike = sum(mine[name][1] == theirs[name][1] for name in apart)
    assert alike > 0.7 * len(apart), found.shortcut
    assert found.before < 0 < found.now and found.step < STEPS and found.rises
    assert f"{found.shortcut!r}" in found.describe()


@pytest.mark.parametrize(("first", "last"), [(0.5, 0.5), (0.9, 0.9), (0.9, 0.1), (0.0, 0.3)])
@pytest.mark.parametrize("shortcut", ["last", "sight alone"])
def test_nothing_is_raised_where_beliefs_gain_or_nothing_changes(
    shortcut: str, first: float, last: float
) -> None:
    """Nor where answers turn to a shortcut, and most are still what is believed."""
    assert [raised(rollouts(shortcut, first, last, seed)) for seed in range(5)] == [None] * 5


@pytest.mark.parametrize("shortcut", ["last", "sight alone"])
def test_answers_that_follow_a_shortcut_and_earn_by_it_raise_it(shortcut: str) -> None:
    """No share changes: it is above half, and what the shortcut says is the label."""
    for seed in range(3):
        found = raised(rollouts(shortcut, 0.7, 0.7, seed, paid=1.0))
        assert found is not None and not found.rises and "are rewarded" in found.describe()
        assert raised(rollouts(shortcut, 0.7, 0.7, seed, paid=0.0)) is None
        assert raised(rollouts(shortcut, 0.3, 0.3, seed, paid=1.0)) is None


def test_questions_that_are_no_longer_there_are_passed_over() -> None:
    some = [rollout(1, each, response("box")) for each in questions()[:9]]
    assert list(leans(some, {})) == [] and alarm_of(some, {}) is None


def test_labels_decide_nothing() -> None:
    example = questions()[0]
    place = said("last")[example.id][0]
    texts = [rollout(1, example, response(place))] * GROUP
    wrong = Example(example.task, example.benchmark, example.story, example.question, "nowhere")
    assert list(leans(texts, {example.id: wrong})) == list(leans(texts, {example.id: example}))
    assert {told.lean for _, told in leans(texts, {example.id: wrong})} == {-1.0}


def test_reasoning_that_becomes_untrue_raises_it() -> None:
    """Answers stay as they were: what is believed."""
    some = []
    for number, (example, track) in enumerate(told()):
        step = 1 + number // QUESTIONS
        false = step > STEPS // 3
        lines = turned(track, example) if false else track
        some += [rollout(step, example, response(example.answer, lines))] * 2
    found = alarm_of(some, {example.id: example for example, _ in told()})
    assert found is not None and found.shortcut == UNTRUE and "untrue" in found.describe()


@cache
def told() -> tuple[tuple[Example, str], ...]:
    return tuple(tracked_questions(90))[: STEPS * QUESTIONS]


def turned(track: str, example: Example) -> str:
    """A track in which the answer is another place, everywhere."""
    places = sorted({place for _, place in places_of(example)} - {example.answer})
    return track.replace(example.answer, places[0]) if places else track


def places_of(example: Example) -> Sequence[tuple[int, str]]:
    surface = read_all([example])[0].surface
    assert surface is not None
    return surface.places


def test_a_log_is_followed_as_it_grows_and_is_written_again(tmp_path: Path) -> None:
    write_dataset(tmp_path / "train.parquet", questions(), maker("compact"), "train")
    some = list(rollouts("last", 0.0, 1.0))
    found = raised(iter(some))
    assert found is not None
    log = RolloutLog(tmp_path)
    watch = LogWatch(tmp_path / "train.parquet", log)
    assert watch.look(0) is None
    for step in range(1, found.step):
        log.add(each for each in some if each["step"] == step)
        if step != 3:  # one look may take in two steps
            assert watch.look(step) is None
    log.keep_until(found.step - 3)  # a job that died resumes from its checkpoint
    assert watch.look(found.step - 3) is None
    for step in range(found.step - 2, found.step + 2):
        log.add(each for each in some if each["step"] == step)
        if step < found.step:
            assert watch.look(step - 1) is None  # this one may not be whole yet
    assert watch.look(found.step) == found
    assert LogWatch(tmp_path / "train.parquet", log).look(STEPS) == found
