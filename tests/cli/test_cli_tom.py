"""The command line: answers, explanations, agreement, and one clear error for bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.said import tomrl

STORY = (
    "Ann and Bob entered the hall. The hat is in the red_box. Bob exited the hall. "
    "Ann moved the hat to the jar."
)
QUESTION = "Where does Bob really think the hat is?"
ROW = {"id": "a", "story": STORY, "question": QUESTION}


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_solve_keeps_the_order_and_gives_reasons(tmp_path: Path) -> None:
    unread = {"story": "It rained.", "question": QUESTION}
    reality = {"id": 7, "story": STORY, "question": "Where is the hat really?"}
    source = write(tmp_path / "in.jsonl", ROW, unread, {**reality, "choices": ["jar", "red_box"]})
    output = tomrl("tom", "solve", "-b", "hi_tom", source, "-o", tmp_path / "out.jsonl")
    first, second, third = read(tmp_path / "out.jsonl")
    assert (first["id"], first["answer"]) == ("a", "red_box")
    assert "2: The hat is in the red_box." in first["reason"]
    assert (second["id"], second["answer"]) == (2, None)
    assert "cannot read sentence 1 ('It rained')" in second["reason"]
    assert (third["id"], third["answer"]) == (7, "jar")
    assert "1 without an answer" in " ".join(output.split())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_explain_reads_text_and_rows(tmp_path: Path) -> None:
    text = tmp_path / "story.txt"
    text.write_text(STORY, encoding="utf-8")
    rows = write(tmp_path / "in.jsonl", {"story": "Ann entered the hall."}, ROW)
    shown = tomrl("tom", "explain", "-b", "hi_tom", text)
    assert "really jar; Ann: jar; Bob: red_box" in shown
    assert "Bob has a wrong idea of Ann: red_box" in shown
    assert tomrl("tom", "explain", "-b", "hi_tom", rows, "--row", 2) == shown


def test_check_prints_agreement_and_keeps_disagreements(tmp_path: Path) -> None:
    right, wrong = {**ROW, "answer": "red_box"}, {**ROW, "id": "b", "answer": "jar", "order": 1}
    output = tomrl("tom", "check", "-b", "hi_tom", write(tmp_path / "in.jsonl", right, wrong))
    assert "50.0" in output
    (kept,) = read(tmp_path / "in.disagreements.jsonl")
    assert (kept["line"], kept["id"], kept["label"], kept["answer"]) == (2, "b", "jar", "red_box")
