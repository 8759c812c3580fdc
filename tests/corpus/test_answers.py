"""An answer is right or wrong alike, through every door that grades it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from pipeline.cli.reward import read_completions
from pipeline.evaluate.answers import AnsweredQuestion, read_answers
from pipeline.evaluate.regrade import EXPANDED, TAGS, regrade
from pipeline.judge.items import items_of
from pipeline.reward.presets import load_preset, reward
from pipeline.tasks.example import Example
from pipeline.tasks.registry import get
from tests.corpus.answers import GOLDS, IN_JSON, RIGHT, RIGHT_WITH_MORE, WRONG


def _file(folder: Path, responses: Sequence[str], gold: Example) -> Path:
    fields = {
        "story": gold.story,
        "question": gold.question,
        "answer": gold.answer,
        "answer_kind": gold.answer_kind,
        "question_type": gold.question_type or "q",
        "choices": gold.choices and list(gold.choices),
        "meta": gold.meta,
    }
    rows = [{**fields, "response": response} for response in responses]
    path = folder / "answers.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def _answers(file: Path, gold: Example) -> list[AnsweredQuestion]:
    return read_answers(file, get(gold.task), ("answer", "response"))


def _evaluated(file: Path, gold: Example) -> list[bool]:
    said = (json.loads(line)["response"] for line in file.read_text().splitlines())
    return [get(gold.task).grade(each, gold).correct for each in said]


def _rewarded(file: Path, gold: Example) -> list[bool]:
    preset = load_preset("tom-rl", {})  # which pays the published rule
    return [
        reward(preset, said, example).grade.correct
        for said, example in read_completions(file, gold.task, preset)
    ]


def _regraded(file: Path, gold: Example) -> list[bool]:
    return list(regrade(_answers(file, gold), get(gold.task), TAGS).right)


def _judged(file: Path, gold: Example) -> list[bool]:
    return [item.right for item in items_of((a.example, a.response) for a in _answers(file, gold))]


DOORS: Mapping[str, Callable[[Path, Example], list[bool]]] = {
    "evaluation": _evaluated,
    "reward": _rewarded,
    "regrade": _regraded,
    "judge": _judged,
}


def _tagged(answers: Sequence[str]) -> list[str]:
    return [f"x</think><answer>{answer}</answer>" for answer in answers]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", GOLDS)
def test_answers_are_right_or_wrong_alike(kind: str, door: str, tmp_path: Path) -> None:
    for answers, right in ((RIGHT, True), (RIGHT_WITH_MORE, True), (WRONG, False)):
        said = answers.get(kind, ())
        file = _file(tmp_path, _tagged(said), GOLDS[kind])
        found = DOORS[door](file, GOLDS[kind]) if said else []
        pairs = zip(said, found, strict=True)
        assert not [answer for answer, is_right in pairs if is_right != right]


@pytest.mark.parametrize("kind", GOLDS)
def test_strictly_right_is_the_answer_and_nothing_else(kind: str) -> None:
    gold = GOLDS[kind]
    for answers, strict in ((RIGHT, True), (RIGHT_WITH_MORE, False), (WRONG, False)):
        said = answers.get(kind, ())
        grades = [get(gold.task).grade(each, gold).strict for each in _tagged(said)]
        pairs = zip(said, grades, strict=True)
        assert not [answer for answer, is_strict in pairs if is_strict != strict]


def test_answers_in_json_are_parsed_by_every_reader_of_them(tmp_path: Path) -> None:
    place = GOLDS["place"]
    file = _file(tmp_path, IN_JSON, place)
    assert regrade(_answers(file, place), get("hi_tom"), EXPANDED).right == (True,) * len(IN_JSON)
    assert all(_judged(file, place))
