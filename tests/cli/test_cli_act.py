"""``tomrl act``: tasks are written, answered and graded; what is mistyped."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.base.errors import UserError
from tests.said import told, tomrl

Row = dict[str, Any]


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    file = tmp_path_factory.mktemp("acts") / "tasks.jsonl"
    assert tomrl("act", "-n", "80", "--seed", "3", "-o", file) == ""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def answered(file: Path, rows: list[Row], answer: Callable[[Row], str]) -> Path:
    lines = (json.dumps({**row, "response": answer(row)}) for row in rows)
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def naive(row: Row) -> str:
    """Knows minds, and acts as if everybody were believed."""
    if row["id"].endswith("literal"):
        return f"<think>So.</think><answer>{row['answer']}</answer>"
    named = re.match(r"What does (\w+) .* in the end (\w+) thinks", row["question"])
    place = re.search(r"the ([\w-]+) is in the ([\w-]+)", row["question"])
    assert named and place
    return (
        f"<think>So.</think><answer>{named[1]} privately told {named[2]} that the {place[1]} is in "
        f"the {place[2]} now.</answer>"
    )


def test_tasks_are_graded_beside_literal_questions_and_players(
    tasks: list[Row], tmp_path: Path
) -> None:
    assert [row["id"] for row in tasks[:2]] == ["3-0-act", "3-0-literal"]
    assert len(tasks) == 160 and len({row["id"] for row in tasks}) == 160
    gold = told("act", answered(tmp_path / "g.jsonl", tasks, lambda r: str(r["answer"])))
    assert (gold["acts"]["value"], gold["literal"]["value"], gold["read"]) == (1, 1, 80)
    assert gold["players"]["optimal"]["p"] == 1
    assert max(gold["players"][level]["p"] for level in ("level 0", "level 1")) < 0.01
    file = answered(tmp_path / "naive.jsonl", tasks, naive)
    found = told("act", file)
    assert found["literal"]["value"] == 1
    assert found["acts"]["value"] == found["players"]["level 1"]["value"] < 0.5
    assert sum(each["count"] for each in found["goals"].values()) == 80
    said = tomrl("act", file)
    assert "naive.jsonl: goals reached" in said and "literal questions" in said


def test_what_is_not_read_is_said(tasks: list[Row], tmp_path: Path) -> None:
    file = answered(tmp_path / "prose.jsonl", tasks[:20], lambda _: "She lies to them.")
    assert "answers read 0 of 10; not in this: 'She lies to them.'" in tomrl("act", file)


def test_mistakes_name_what_to_do(tasks: list[Row], tmp_path: Path) -> None:
    literal = answered(tmp_path / "literal.jsonl", tasks[1:2], lambda _: "box")
    with pytest.raises(UserError, match="write such tasks with: tomrl act -o"):
        tomrl("act", literal)
    with pytest.raises(UserError, match="--output .*: tasks are written without a file"):
        tomrl("act", literal, "-o", tmp_path / "out.jsonl")
