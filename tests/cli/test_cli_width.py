"""Tables at 80 columns, as they are typed: no heading and no cell is cut."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console
from typer.testing import CliRunner

from pipeline.analysis.table import rich_table
from pipeline.cli.app import app
from pipeline.cli.tables import make_table
from pipeline.config.study_files import study_files
from tests.analysis.test_findings import study
from tests.audit.test_audit_command import row, story
from tests.conftest import PROJECT


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)


def typed(*command: str, columns: int = 80) -> str:
    shown = CliRunner().invoke(app, command, env={"COLUMNS": str(columns)})
    assert shown.exit_code == 0, shown.exception
    assert "…" not in shown.stdout
    return shown.stdout


def narrow(text: str) -> None:
    assert max(map(len, text.splitlines())) <= 80, text


def test_doctor() -> None:
    narrow(typed("doctor"))


def test_study_list_and_show() -> None:
    text = typed("study", "list")
    narrow(text)
    for word in ("study", "cells", "models", "backend", "title", *study_files(PROJECT)):
        assert word in text.split()
    assert re.search(r"\* +mini +3 ", text)
    narrow(typed("study", "show", "grid"))


def test_plans_of_training() -> None:
    plan = typed("plan", "--study", "mini", "--cell", "nano-cued")
    narrow(plan)
    for name in ("what", "critic", "GiB", "bytes"):
        assert name in plan.split()
    cell = ("--study", "tom-rl", "--cell", "qwen25-7b-hi-exp")
    text = typed("plan", *cell)
    for name in ("update", "sampling", "host"):
        assert name in text.split()
    assert "\n  data.train_files = train.parquet  (~/data/rlhf/gsm8k/train.parquet)\n" in text


@pytest.mark.parametrize("columns", [80, 200])
def test_audit(tmp_path: Path, columns: int) -> None:
    for split in ("test", "train", "validation"):
        path = tmp_path / "raw" / "hi_tom_style" / f"{split}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = (row(story(number), order) for order in range(5) for number in range(3))
        path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    command = ("audit", "hi_tom_style", "--raw", str(tmp_path / "raw"))
    text = typed(*command, "--against", "hi_tom_style_train", columns=columns)
    narrow("\n".join(line for line in text.splitlines() if not line.startswith("flag")))
    for heading in ("conflicts", "majority", "guess", "question", "n-gram", "innermost exit"):
        assert heading in text
    assert re.search(r"order 0 +order 1 +order 2 +order 3 +order 4", text)


@pytest.mark.parametrize("columns", [44, 60, 80, 200])
def test_the_results(columns: int) -> None:
    console = Console(width=columns, record=True)
    console.print(rich_table(study(order_3=0.3, lengths=[20.0] * 20), columns))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= min(columns, 80), text
    assert "…" not in text
    for words in ("base", "change", "hi_tom_order_3", "55.0"):
        assert words in text
    assert "─" in text  # a whole table
    assert re.search(r"rule baseline: .*hi_tom_order_3:\s+55\.0 last", text, re.DOTALL) or (
        columns >= 100
    )


@pytest.mark.parametrize("columns", [*range(44, 60, 3), 60, 80, 120])
def test_no_number_is_cut(columns: int) -> None:
    """Numbers of every form, in texts of every length and script, beside names with digits."""
    numbers = ["+13.3", "5.2", "1,234,567", "-0.05", "100.0", "(−7.5)", "97%", "3/4"]
    table = make_table("of 2 tables", ["name", "said"], ("base 1.0", "change"))
    for number in numbers:
        table.add_row(
            "a_very_long_name_0_2", f"文字 about {number} of it", number, f"{number} ± 1.5"
        )
    console = Console(width=columns, record=True)
    console.print(table)
    lines = console.export_text().splitlines()
    assert max(cell_len(line) for line in lines) <= columns
    words = Counter(word for line in lines for word in line.split())
    assert all(words[number] == 3 for number in numbers if number != "100.0"), lines
    assert words["1.5"] == len(numbers)
