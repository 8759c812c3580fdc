"""``tomrl export environment``: the grader that goes out is the one that is here."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from pipeline.base.errors import UserError
from pipeline.data.prompt import compact
from pipeline.formats.files import read_lines
from pipeline.tasks import registry
from pipeline.tasks.grading import Grade
from tests.made_answers import Answer, example_of, made_up
from tests.said import tomrl

pytestmark = pytest.mark.chain
TASK, PACKAGE = "hi_tom_style", "tomrl_hi_tom_style"
RESPONSES = 9600
_GRADED = f"""
import dataclasses, json, sys
sys.path.insert(0, sys.argv[1])
import {PACKAGE} as environment
rows = environment.rows("test")
for place, text in json.load(sys.stdin):
    found = environment.grade("<think>" + text, rows[place])
    earned = environment.reward("<think>" + text, rows[place])
    assert earned == float(found.strict and found.format_ok)
    print(json.dumps(dataclasses.asdict(found)))
assert not [name for name in sys.modules if name.split(".")[0] == "pipeline"]
"""


def export(*words: object) -> str:
    return tomrl("export", "environment", *words)


@pytest.fixture(scope="module")
def package(reproduced: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of the tests' study."""
    target = tmp_path_factory.mktemp("environment") / "package"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(reproduced)
        assert f"package {PACKAGE}" in export(TASK, "--to", target)
    return target


@pytest.fixture(scope="module")
def rows(package: Path) -> list[dict[str, Any]]:
    return read_lines(package / PACKAGE / "test.jsonl")


def answered(code: str, package: Path, answers: list[Answer], *options: str) -> list[Any]:
    """What a program prints that is handed answers, a value a line."""
    command = [sys.executable, *options, "-c", code, str(package)]
    done = subprocess.run(
        command, input=json.dumps(answers), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def graded(text: str, row: dict[str, Any]) -> Grade:
    example = example_of(row)
    return registry.get(example.task).grade(text, example)


def test_it_grades_as_tomrl_does_with_nothing_but_the_standard_library(
    package: Path, rows: list[dict[str, Any]], reproduced: Path
) -> None:
    places = {row["example"]["id"]: place for place, row in enumerate(rows)}
    responses = pd.concat(
        pd.read_parquet(path) for path in reproduced.glob("runs/mini/*/evaluate/responses.parquet")
    )
    recorded = [
        (places[each.id], each.response) for each in responses.itertuples() if each.id in places
    ]
    answers = [*recorded, *made_up(rows, RESPONSES - len(recorded))]
    assert len(answers) == RESPONSES and len(recorded) >= 2 * len(rows)
    found = answered(_GRADED, package, answers, "-I", "-S")
    expected = [graded(text, rows[place]) for place, text in answers]
    assert found == [asdict(each) for each in expected]
    for name in ("strict", "correct", "format_ok", "extracted"):
        assert len({each[name] for each in found}) > 1


def test_it_asks_as_the_study_does_and_its_readme_runs(
    package: Path, rows: list[dict[str, Any]]
) -> None:
    assert all(row["prompt"] == compact(example_of(row)) for row in rows)
    readme = (package / "README.md").read_text(encoding="utf-8")
    assert "@" not in readme and json.dumps(rows[0]["prompt"], indent=2) in readme
    code = "".join(re.findall(r"```python\n(.*?)```", readme, re.DOTALL))
    assert "assert reward" in code
    answered(f"import sys\nsys.path.insert(0, sys.argv[1])\n{code}", package, [], "-I", "-S")


def test_what_the_study_does_not_ask_is_said(
    reproduced: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(reproduced)
    with pytest.raises(UserError, match="asks nothing of tomi; it asks: hi_tom_style"):
        export("tomi", "--to", tmp_path / "out")
    with pytest.raises(UserError, match="mini: --combination 'lo' does not exist; there are: hi"):
        export(TASK, "--combination", "lo", "--to", tmp_path / "out")
    export(TASK, "--for", "trl", "--to", tmp_path / "out")
    names = {path.name for path in (tmp_path / "out" / PACKAGE).glob("*.py")}
    assert names == {"__init__.py", "trl_rewards.py"}
    with pytest.raises(UserError, match="--for 'trll' .*did you mean 'trl'.*; there are: verif"):
        export(TASK, "--for", "trll", "--to", tmp_path / "none")
