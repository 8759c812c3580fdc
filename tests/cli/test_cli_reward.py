"""``tomrl reward score``: rows in, scores out, in order; one clear error for a bad row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.base.errors import UserError
from tests.reward.test_fidelity import ANN, BOB, QUESTION, STORY
from tests.said import tomrl

RIGHT = {"completion": " x</think><answer> red_box</answer>", "ground_truth": "red box"}


def score(source: Path, *arguments: str, preset: str = "tom-rl") -> str:
    """Run the command and return what it printed; its errors are raised."""
    command = ["reward", "score", "--preset", preset, str(source), *arguments]
    if "-o" not in arguments:
        command += ["-o", str(source.parent / "out.jsonl")]
    return tomrl(*command)


def write(folder: Path, *rows: object) -> Path:
    path = folder / "in.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def read(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


def test_scores_keep_the_order(tmp_path: Path) -> None:
    wrong = {**RIGHT, "ground_truth": "tin"}
    either = {**RIGHT, "completion": " x</think><answer>tin or red_box</answer>"}
    bare = {**RIGHT, "completion": "red_box"}
    said = score(write(tmp_path, RIGHT, wrong, "", either, bare))
    found = {"format_ok": True, "extracted": "red_box"}
    nothing = {"format_ok": False, "extracted": None}
    assert read(tmp_path) == [
        {"score": 3.0, **found, "correct": True, "strict": True},
        {"score": -1.0, **found, "correct": False, "strict": False},
        {"score": 3.0, **found, "extracted": "tin or red_box", "correct": True, "strict": False},
        {"score": -3.0, **nothing, "correct": False, "strict": False},
    ]
    assert "4 scores" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_a_row_may_name_its_task(tmp_path: Path) -> None:
    row = {"completion": "x</think> so \\boxed{1/2}", "ground_truth": "0.5", "task": "gsm8k"}
    score(write(tmp_path, row), preset="tom-rl-text")
    assert read(tmp_path)[0]["correct"] is True


def test_fidelity_reads_the_story(tmp_path: Path) -> None:
    row = {
        "completion": f" {BOB} {ANN}blue_jar.</think><answer> blue_jar</answer>",
        "ground_truth": "blue_jar",
        "task": "hi_tom_style",
        "story": STORY,
        "question": QUESTION,
    }
    silent = {**row, "completion": "</think><answer> blue_jar</answer>"}
    score(write(tmp_path, row, silent), preset="fidelity")
    assert [each["score"] for each in read(tmp_path)] == pytest.approx([1.1, 0.6])


def test_the_reward_names_what_it_reads_itself(tmp_path: Path) -> None:
    row = {**RIGHT, "task": "hi_tom_style", "story": STORY}
    with pytest.raises(
        UserError, match=r", line 1: the field 'question' is missing; this reward needs"
    ):
        score(write(tmp_path, row), preset="fidelity")


def test_a_row_that_cannot_be_graded_is_counted_with_the_reason(tmp_path: Path) -> None:
    row = {**RIGHT, "task": "opentom", "meta": {"kind": "fullness"}}
    assert "grading failed on 1, first with KeyError: 'red box'" in score(write(tmp_path, row))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (json.dumps({**RIGHT, "story": 5}), r"in.jsonl, line 2: the field 'story' must be text"),
        (json.dumps({**RIGHT, "choices": 5}), r"'choices' must be a list of texts, found int"),
        (json.dumps({**RIGHT, "choices": [1]}), r"'choices' must be a list of texts, found list"),
        (
            json.dumps({**RIGHT, "answer_kind": "word"}),
            r"'answer_kind' must be one of span, choice",
        ),
        (json.dumps({**RIGHT, "answer_kind": []}), r"'answer_kind' must be one of .*, found list"),
        (json.dumps({**RIGHT, "order": True}), r"'order' must be a whole number, found bool"),
        (json.dumps({**RIGHT, "meta": []}), r"'meta' must be an object, found list"),
        (
            json.dumps({**RIGHT, "task": "fantom_list"}),
            r"in.jsonl, line 2: the field 'answer_kind' is missing; .*row of fantom_list needs it",
        ),
        (
            json.dumps({**RIGHT, "task": "fantom_list", "answer_kind": "names", "meta": {}}),
            r"in.jsonl, line 2: the field 'meta.wrong_names' is missing",
        ),
        (json.dumps({**RIGHT, "task": "opentom"}), r"the field 'meta.kind' is missing"),
    ],
)
def test_a_bad_row_is_named_and_nothing_written(tmp_path: Path, line: str, why: str) -> None:
    """Rows that the corpus of bad input has not."""
    with pytest.raises(UserError, match=why):
        score(write(tmp_path, RIGHT, line, RIGHT))
    assert not (tmp_path / "out.jsonl").exists()
