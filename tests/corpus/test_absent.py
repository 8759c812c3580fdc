"""What is absent is no wrong answer: empty rows, failed samples, unfinished thoughts, no gold."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pipeline.base.errors import UserError
from pipeline.evaluate.answers import open_answers, read_answers
from pipeline.evaluate.regrade import TAGS, regrade
from pipeline.judge.counted import NEEDED, judge_file
from pipeline.tasks import registry
from pipeline.tasks.registry import get
from tests.said import tomrl

STORY = (
    "Ann and Bob entered the hall.\nThe apple is in the red_box.\nAnn moved the apple to the "
    "blue_jar.\nBob exited the hall.\nAnn moved the apple to the green_bag."
)
ASKED = {"story": STORY, "question": "Where does Bob think the apple is?", "answer": "blue_jar"}
SAID = "<think>x</think><answer>blue_jar</answer>"


def _lines(folder: Path, rows: Sequence[object]) -> Path:
    path = folder / "answers.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def _graded(path: Path, task: str = "hi_tom") -> dict[str, tuple[int, float]]:
    found = regrade(read_answers(path, get(task), ("answer", "response")), get(task), TAGS)
    return {order: (each.count, each.value) for order, each in found.by_order.items()}


def test_rows_of_nothing_are_none(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(f"id,answer,response\n1,blue_jar,{SAID}\n2,red_box,{SAID}\n,,\n,,\n")
    assert _graded(path) == {"all": (2, 0.5)}
    nulls = _lines(tmp_path, [{"answer": "red_box", "response": SAID}, {"answer": None}])
    assert _graded(nulls) == {"all": (1, 0.0)}


def test_a_row_without_gold_is_named(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(f"id,answer,response\n1,blue_jar,{SAID}\n2,,{SAID}\n")
    with pytest.raises(UserError, match="line 3: answer is empty"):
        _graded(path)


def test_every_row_has_its_own_columns(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"response": SAID, "answer": "blue_jar"} for _ in range(3)]
    rows = [rows[0], rows[1] | {"order": 1}, rows[2] | {"question_order": 2, "answer": "red_box"}]
    assert _graded(_lines(tmp_path, rows)) == {"1": (1, 1.0), "2": (1, 0.0), "all": (3, 2 / 3)}
    with pytest.raises(UserError, match="line 2: .*missing: response"):
        _graded(_lines(tmp_path, [rows[0], {"answer": "red_box"}]))


@pytest.mark.parametrize("name", [1 << 60, 3.0, "a"])
def test_any_whole_number_is_an_id(tmp_path: Path, name: object) -> None:
    rows = [{"id": name, "answer": "red_box", "response": SAID}]
    [answer] = read_answers(_lines(tmp_path, rows), get("hi_tom"), ("answer", "response"))
    assert answer.id == {1 << 60: "1152921504606846976", 3.0: "3", "a": "a"}[name]  # type: ignore[index]


def test_golds_may_be_numbers_and_responses_null(tmp_path: Path) -> None:
    rows = [{"answer": 18, "response": "\\boxed{18}"}, {"answer": 2.5, "response": "It is 2.5"}]
    assert _graded(_lines(tmp_path, rows), "gsm8k") == {"all": (2, 1.0)}
    rows = [{"answer": "red_box", "response": None}, {"answer": "blue_jar", "response": SAID}]
    assert _graded(_lines(tmp_path, rows)) == {"all": (2, 0.5)}


@pytest.mark.parametrize("task", ["gsm8k", "hi_tom"])
def test_an_unfinished_thought_is_no_answer(tmp_path: Path, task: str) -> None:
    said = ["<think>So 9*2 = 18. But", "<think>A</think><think>18", "<think>9</think>18"]
    rows = [{**ASKED, "answer": "18", "response": each} for each in said]
    right = {"gsm8k": 1 / 3, "hi_tom": 0.0}[task]  # whose answers stand in tags
    assert _graded(_lines(tmp_path, rows), task)["all"] == (3, right)
    judged = judge_file(_lines(tmp_path, rows), registry.get(task)).verdict.answers
    assert (judged.read.count, judged.read.of) == (1, 3)


def test_a_response_that_is_logged_for_each_filter_counts_once(tmp_path: Path) -> None:
    logged = {"doc_id": 0, "doc": {"question": "How many?"}, "target": "18"}
    rows = [{**logged, "resps": [["It is 18."]], "filter": name} for name in ("strict", "flexible")]
    assert _graded(_lines(tmp_path, rows), "gsm8k") == {"all": (1, 1.0)}


def _sample(number: int, **fields: Any) -> dict[str, Any]:
    said = {"message": {"role": "assistant", "content": SAID}, "stop_reason": "stop"}
    return {
        "id": number,
        "epoch": 1,
        "input": ASKED["question"],
        "target": "blue_jar",
        "metadata": {"story": STORY, "question": ASKED["question"], "belief_order": "1"},
        "output": {"choices": [said]},
    } | fields


def test_samples_that_failed_are_left_out_and_said(tmp_path: Path) -> None:
    nothing: dict[str, Any] = {"output": {"choices": []}}
    failed = [
        _sample(3, **nothing, error={"message": "RateLimitError(429)"}),
        _sample(4, **nothing),
    ]
    path = _lines(tmp_path, [_sample(1), _sample(1, epoch=2), *failed])
    judged = judge_file(path, get("hi_tom"))
    assert list(judged.failed) == ["RateLimitError(429)", "no answer"]
    assert [item.right for item in judged.items] == [True, True]
    with pytest.raises(UserError, match=r"2 questions were never answered \(RateLimitError"):
        _graded(path)
    said = tomrl("judge", path)
    assert "never answered  2 of the questions (RateLimitError(429), no answer)" in said
    with pytest.raises(UserError, match="no question of it was answered"):
        judge_file(_lines(tmp_path, failed), get("hi_tom"))


def _damaged(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[60:90] = bytes(30)
    path.write_bytes(data)


def _odd(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as log:
        log.writestr("samples/1.json", "[1, 2]")


@pytest.mark.parametrize("damage", [_damaged, _odd])
def test_a_damaged_log_is_one_sentence(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as log:
        log.writestr("samples/1.json", json.dumps(_sample(1)))
    damage(path)
    with pytest.raises(UserError, match="not a readable log of Inspect"):
        list(open_answers(path, get("hi_tom"), NEEDED)[1])
