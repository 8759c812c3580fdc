"""The command line: answers, explanations, agreement, and one clear error for bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipeline.base.errors import UserError
from pipeline.cli.tom import app

STORY = (
    "Ann and Bob entered the hall. The hat is in the red_box. Bob exited the hall. "
    "Ann moved the hat to the jar."
)
QUESTION = "Where does Bob really think the hat is?"
ROW = {"id": "a", "story": STORY, "question": QUESTION}


def run(*arguments: object) -> str:
    """Run a command and return what it printed; its errors are raised."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_solve_keeps_the_order_and_gives_reasons(tmp_path: Path) -> None:
    unread = {"story": "It rained.", "question": QUESTION}
    reality = {"id": 7, "story": STORY, "question": "Where is the hat really?"}
    source = write(tmp_path / "in.jsonl", ROW, unread, {**reality, "choices": ["jar", "red_box"]})
    output = run("solve", "-b", "hi_tom", source, "-o", tmp_path / "out.jsonl")
    first, second, third = read(tmp_path / "out.jsonl")
    assert (first["id"], first["answer"]) == ("a", "red_box")
    assert "2: The hat is in the red_box." in first["reason"]
    assert (second["id"], second["answer"]) == (2, None)
    assert "cannot read sentence 1 ('It rained')" in second["reason"]
    assert (third["id"], third["answer"]) == (7, "jar")
    assert "1 without an answer" in " ".join(output.split())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl"]


def test_solve_with_other_rules(tmp_path: Path) -> None:
    story = (
        "Ann entered the hall. Bob entered the hall. The hat is in the box. Bob exited the hall. "
        "Cleo entered the hall. Ann moved the hat to the jar."
    )
    question = "Where does Ann think that Bob searches for the hat?"
    source = write(tmp_path / "in.jsonl", {"story": story, "question": question})
    answers = {}
    for rules in ("plain", "upstream", "released"):
        run("solve", "-b", "tomi", source, "-o", tmp_path / "out.jsonl", "--rules", rules)
        answers[rules] = read(tmp_path / "out.jsonl")[0]["answer"]
    assert answers == {"plain": "box", "upstream": "jar", "released": "jar"}


def test_explain_reads_text_and_rows(tmp_path: Path) -> None:
    text = tmp_path / "story.txt"
    text.write_text(STORY, encoding="utf-8")
    rows = write(tmp_path / "in.jsonl", {"story": "Ann entered the hall."}, ROW)
    shown = run("explain", "-b", "hi_tom", text)
    assert "really jar; Ann: jar; Bob: red_box" in shown
    assert "Bob has a wrong idea of Ann: red_box" in shown
    assert run("explain", "-b", "hi_tom", rows, "--row", 2) == shown


def test_check_prints_agreement_and_keeps_disagreements(tmp_path: Path) -> None:
    right, wrong = {**ROW, "answer": "red_box"}, {**ROW, "id": "b", "answer": "jar", "order": 1}
    output = run("check", "-b", "hi_tom", write(tmp_path / "in.jsonl", right, wrong))
    assert "50.0" in output
    (kept,) = read(tmp_path / "in.disagreements.jsonl")
    assert (kept["line"], kept["id"], kept["label"], kept["answer"]) == (2, "b", "jar", "red_box")


LONG = "x" * 10_000_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"in.jsonl holds no rows"),
        (b'{"story": "s", \n', r"in.jsonl:1: not valid JSON"),
        (b"\n[1]\n", r"in.jsonl:2: expected a JSON object, found list"),
        (b'{"story": "s"}', r"in.jsonl:1: the field 'question' is missing"),
        (
            b'{"story": 3, "question": "q"}',
            r"in.jsonl:1: the field 'story' must be text, found int",
        ),
        (b'{"story": "\xff", "question": "q"}', r"in.jsonl:1: byte 11 is not UTF-8"),
        (
            b'{"story": "s", "question": "q", "choices": [1]}',
            r"in.jsonl:1: the field 'choices' must be a list",
        ),
        (b'{"story": "s", "question": "q", "id": [1]}', r"in.jsonl:1: the field 'id' must be"),
        (
            b'{"id": 1, "story": "s", "question": "q"}\n' * 2,
            r"in.jsonl:2: id 1 stands already in line 1",
        ),
        (
            json.dumps({"story": LONG, "question": "q"}).encode(),
            r"in.jsonl:1: the story has 10,000,000 characters; allowed: 20,000",
        ),
        (b"[" * 100_000, r"in.jsonl:1: not valid JSON"),
    ],
)
def test_bad_input_gives_one_error_with_file_and_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    source = tmp_path / "in.jsonl"
    source.write_bytes(content)
    with pytest.raises(UserError, match=message):
        run("solve", "-b", "hi_tom", source, "-o", tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


def test_wrong_paths_and_options_are_named(tmp_path: Path) -> None:
    source = write(tmp_path / "in.jsonl", ROW)
    output = tmp_path / "out.jsonl"
    with pytest.raises(UserError, match=r"none\.jsonl: there is no such file"):
        run("solve", "-b", "hi_tom", tmp_path / "none.jsonl", "-o", output)
    with pytest.raises(UserError, match="is the input file"):
        run("solve", "-b", "hi_tom", source, "-o", source)
    with pytest.raises(UserError, match="there is no folder"):
        run("solve", "-b", "hi_tom", source, "-o", tmp_path / "none" / "out.jsonl")
    with pytest.raises(UserError, match="hi_tom has no rules 'released'; allowed: plain, upstream"):
        run("solve", "-b", "hi_tom", source, "-o", output, "--rules", "released")
    with pytest.raises(UserError, match="has no line 2"):
        run("explain", "-b", "hi_tom", source, "--row", 2)
    with pytest.raises(UserError, match="the field 'answer' is missing"):
        run("check", "-b", "hi_tom", source)


@pytest.mark.parametrize("command", ["solve", "explain", "check"])
def test_help_shows_an_example(command: str) -> None:
    assert f"tomrl tom {command}" in " ".join(run(command, "--help").split())
