"""Models beside each other: from files, from rows, and what a bad file does to the others."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import tomrl as package
from pipeline.base.errors import UserError
from pipeline.cli.app import app
from pipeline.config.sources import HiTomSource
from pipeline.data.generated import stories
from tests.said import tomrl

LEVELS = {"all": 1, "most": 3, "few": 2}
"""Every n-th answer of a model is wrong, or, of the last, right."""


def _rows() -> list[dict[str, Any]]:
    told = stories(HiTomSource(kind="hi_tom_style", agents=3), "test", 16)
    kept = ("story", "question", "choices", "answer", "order")
    return [{name: dict(row)[name] for name in kept} for of_story in told for row in of_story]


def _answers(name: str) -> list[dict[str, Any]]:
    rows = _rows()
    for number, row in enumerate(rows):
        right = {"all": True, "most": number % 3 > 0, "few": number % 2 == 0}[name]
        wrong = next(each for each in row["choices"] if each != row["answer"])
        row["response"] = f"<answer>{row['answer'] if right else wrong}</answer>"
        row["choices"] = list(row["choices"])
    return rows


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Write the answers of three models, the worst first."""
    paths = []
    for name in reversed(LEVELS):
        paths.append(tmp_path / f"{name}.jsonl")
        paths[-1].write_text("".join(f"{json.dumps(row)}\n" for row in _answers(name)))
    return paths


def test_a_board_says_what_judge_and_compare_say(files: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "board.md"
    words = [str(word) for word in ("board", *files, "--json", "-o", page)]
    found = json.loads(CliRunner().invoke(app, words, catch_exceptions=False).stdout)
    assert [each["model"] for each in found] == list(LEVELS)
    assert [each["right"]["value"] for each in found] == [1.0, 0.6562, 0.5]
    for each in found:
        judged = json.loads(tomrl("judge", tmp_path / f"{each['model']}.jsonl", "--json"))
        assert {name: judged[name] for name in each["verdict"]} == each["verdict"]
    for one, other in pairwise(found):
        path, below = (tmp_path / f"{each['model']}.jsonl" for each in (one, other))
        (column,) = json.loads(tomrl("compare", below, path, "--json"))[0]["columns"]
        assert one["next"] == {
            "model": other["model"],
            **{name: column[name] for name in one["next"] if name != "model"},
        }
        assert one["next"]["change"]["value"] == pytest.approx(
            one["right"]["value"] - other["right"]["value"], abs=1e-4
        )
    assert found[-1]["next"] is None
    lines = page.read_text(encoding="utf-8").splitlines()
    assert [line.split(" | ")[0] for line in lines[2:5]] == [f"| {name}" for name in LEVELS]
    assert all(f"- **{name}**: " in page.read_text(encoding="utf-8") for name in LEVELS)


def test_rows_and_data_frames_are_judged_as_files_are(files: list[Path]) -> None:
    rows = _answers("most")
    from_file = package.judge(files[1]).as_json()
    assert package.judge(rows).as_json() == from_file
    assert package.judge(pd.DataFrame(rows)).as_json() == from_file
    assert package.judge(iter(rows)).as_json() == from_file
    pd.DataFrame(rows).to_parquet(files[1].with_suffix(".parquet"))
    frame = pd.read_parquet(files[1].with_suffix(".parquet"))  # choices are arrays of numpy
    assert package.judge(frame).as_json() == from_file
    frame["order"] = frame["order"].astype("Int64")
    frame["meta"] = pd.Series([pd.NA] * len(frame), dtype=object)
    assert package.judge(frame).as_json() == from_file
    other = [{"text": row.pop("response"), **row} for row in rows]
    assert package.judge(other, columns={"response": "text"}).as_json() == from_file
    found = package.compare(_answers("few"), _answers("all"))
    assert found is not None and (found.first, found.second) == (0.5, 1.0)
    assert [each.name for each in package.board({n: _answers(n) for n in LEVELS})] == list(LEVELS)


def test_one_bad_file_stops_only_itself(files: list[Path], tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"story": 1}\n')
    done = CliRunner().invoke(app, ["board", *map(str, [*files, bad])], env={"COLUMNS": "200"})
    assert done.exit_code == 1
    assert "left out: " in done.output and "bad.jsonl" in done.output
    assert all(f" {name} " in done.output for name in LEVELS)


def test_files_without_a_common_question_are_not_compared(tmp_path: Path) -> None:
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path, row in zip(paths, _answers("all"), strict=False):
        path.write_text(json.dumps(row))
    done = CliRunner().invoke(app, ["compare", *map(str, paths)])
    assert done.exit_code != 0 and "no question in common" in str(done.exception)


def test_new_questions_have_gold_answers_and_their_own_seed() -> None:
    asked = package.questions(120, seed=3)
    assert len({row["id"] for row in asked}) == 120
    assert asked[:40] == package.questions(40, seed=3) != package.questions(40, seed=4)
    wrongs: list[dict[str, Any]] = [{"count": -1}, {"seed": -1}, {"seed": "x"}]
    for wrong in wrongs:
        with pytest.raises(UserError, match="allowed: a whole number from 0"):
            package.questions(**wrong)
    right = [{**row, "response": row["answer"]} for row in asked]
    accuracy = package.judge(right).as_json()["evidence"]["answers"]["accuracy"]
    assert (accuracy["count"], accuracy["value"]) == (120, 1.0)
