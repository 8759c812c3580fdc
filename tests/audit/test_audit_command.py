"""``tomrl audit`` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from pipeline.cli.app import app


def row(story: str, order: int = 1) -> dict[str, object]:
    return {
        "story": story,
        "question": "Where does Bob really think the hat is?",
        "answer": "jar",
        "order": order,
        "question_type": f"order_{order}",
        "choices": ["jar", "tin"],
        "is_interesting": False,
        "trace": "",
    }


def story(number: int) -> str:
    return (
        f"Ann and Bob entered the hall.\nThe hat is in the box_{number}.\n"
        "Bob moved the hat to the jar.\nBob exited the hall."
    )


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    for split, numbers in (("test", (0, 1)), ("train", (1, 2)), ("validation", (3,))):
        path = tmp_path / "raw" / "hi_tom_style" / f"{split}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row(story(n))) + "\n" for n in numbers))
    return tmp_path / "raw"


def typed(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})


def test_tables_and_json(raw: Path, tmp_path: Path) -> None:
    target = tmp_path / "audit.json"
    shown = typed("audit", "hi_tom_style", "--raw", raw, "--json", target)
    assert shown.exit_code == 0, shown.output
    assert "earliest exit" in shown.output
    audit = json.loads(target.read_text())
    assert audit["columns"]["hi_tom_style"]["rows"] == 2
    assert audit["leakage"] == {}


def test_leaks_are_counted(raw: Path, tmp_path: Path) -> None:
    target = tmp_path / "audit.json"
    for training, stories in (("hi_tom_style_train", 1), ("hi_tom_style_validation", 0)):
        command = ("audit", "hi_tom_style", "--raw", raw, "--against", training)
        shown = typed(*command, "--json", target)
        assert f"Test rows that share with {training} the same" in shown.output
        leak = json.loads(target.read_text())["leakage"][training]["hi_tom_style"]
        assert leak["leaked"] == stories
