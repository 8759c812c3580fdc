"""Text of models, data and study files is shown and never obeyed, and a megabyte of it holds up."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from io import StringIO
from pathlib import Path

import pytest
from rich.table import Table

from pipeline.analysis.table import markdown_of, notes, rich_table
from pipeline.base.errors import UserError
from pipeline.cli.app import main
from pipeline.cli.tables import make_table
from pipeline.cli.terminal import Terminal
from pipeline.data.codec import read_examples, write_examples
from pipeline.formats.foreign import markdown_code, markdown_text, visible
from pipeline.reward.fidelity import has_own_words
from pipeline.reward.presets import load_preset, reward
from pipeline.tasks.example import Example
from pipeline.tasks.reading import read_rows
from pipeline.tasks.registry import Task, all_tasks, get
from pipeline.tom.claims.reader import read_claims
from pipeline.tom.language import LANGUAGES
from pipeline.tom.parse.text import LONGEST_QUESTION, LONGEST_STORY, ParseError
from pipeline.tom.solve import solve
from tests.analysis.test_findings import study
from tests.tom.test_claims import NAMES

MEGABYTE = 1 << 20
NASTY = "[/bold] \x1b[2J\x1b]0;x\x07 \0 \u202e a|b <script>alert(1)</script> `x` \r =1+1"
UNITS = [
    *("a", " ", "\n", "\r\n", "\t", "\0", "\x1b[2J", ".", ",", "1", "1 ", '"', "(", "{", "|", "`"),
    *("A ", "Ann, ", "Ann and ", "Ann thinks ", "Ann thinks that ", "the ", "The hat is in ", "😀"),
    *("1 Ann entered the hall.\n", "Ann entered the hall. ", "Ann entered the ", 'Ann said: "'),
    *("Ann privately told Bob that ", "Ann likes the box. ", "Ann moved the hat to the box. "),
    *("While this action was happening, ", "Ann told out loud about ", "<answer>", "</think>"),
]


ANSWERS = ("no yes a. ", "\\boxed{1}", "\n\n:", "1,234.5 ")


def in_time(work: Callable[[], object], seconds: float = 5) -> None:
    start = time.process_time()
    work()
    assert time.process_time() - start < seconds


def shown(*things: object) -> str:
    screen = StringIO()
    Terminal(file=screen, width=200, force_terminal=True).print(*things)
    return screen.getvalue()


def test_control_characters_are_shown() -> None:
    assert visible("a\x1b[2J\0\r\x9b\u202e\ud800\n\té😀") == (
        "a\\x1b[2J\\x00\\r\\x9b\\u202e\\ud800\n\té😀"
    )
    assert markdown_text("a|b\n<i>\\ \x1b") == r"a\|b &lt;i>\\ \\x1b"
    assert markdown_code("a`|`\nb") == r"`a'\|' b`" and markdown_code(" ") == "(empty)"


def test_a_terminal_obeys_its_own_sequences_alone() -> None:
    said = StringIO()
    Terminal(file=said, force_terminal=True).say(NASTY)
    assert "\\x1b[2J" in said.getvalue() and "[/bold]" in said.getvalue()
    assert not set("\x1b\0\r\x07\u202e") & set(said.getvalue())
    assert "\x1b[1m" in shown("[bold]own[/]")


def test_names_in_tables_are_no_markup() -> None:
    table: Table = make_table(NASTY, [NASTY], [NASTY])
    table.add_row(NASTY, NASTY)
    text = shown(table)
    assert text.count("[/bold]") == 5 and "\x1b[2J" not in text and "\0" not in text


def test_the_result_table_takes_any_title_and_name() -> None:
    results = study(order_3=0.3, lengths=[20.0] * 20)
    params = results.params.study.model_copy(update={"title": NASTY})
    results = replace(results, params=results.params.model_copy(update={"study": params}))
    assert "[/bold]" in shown(rich_table(results))
    rows = [row.model_copy(update={"cell": NASTY}) for row in results.rows()]
    text = markdown_of(rows, notes(results))
    assert "\\|b" in text and "<script" not in text and "\x1b" not in text
    columns = {line.replace("\\|", "").count("|") for line in text.splitlines() if "|" in line}
    assert columns == {9}


def test_parquet_gives_back_what_it_got(tmp_path: Path) -> None:
    texts = (NASTY, "x" * MEGABYTE, "=1+1", "\0")
    examples = [Example("b", "t", t, t, t, choices=(t,), meta={t[:9]: t}) for t in texts]
    write_examples(tmp_path / "rows.parquet", examples)
    assert read_examples(tmp_path / "rows.parquet") == examples


def test_many_keys_of_which_one_is_there_twice(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    keys = [f'"{number}": 1' for number in range(90_000)]
    path.write_text("{" + ", ".join([*keys, keys[-1]]) + "}")

    def read() -> None:
        with pytest.raises(UserError, match="'89999' appears twice"):
            read_rows(path)

    in_time(read)


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
@pytest.mark.parametrize("size", [LONGEST_STORY, MEGABYTE])
def test_every_parser_ends(unit: str, size: int) -> None:
    text = (unit * (size // len(unit) + 1))[:size]
    question = text[:LONGEST_QUESTION]
    in_time(lambda: read_claims(text, NAMES, "hat"))
    for language in LANGUAGES.values():
        for read in (
            lambda lang=language: lang.story(text),
            lambda lang=language: lang.story(text, question),
            lambda lang=language: lang.question(text),
            lambda lang=language: lang.question(f"Where does Ann think {question} is?"),
            lambda lang=language: lang.in_full(text),
            lambda lang=language: solve(lang.name, text, "Where is the hat really?", text),
        ):

            def tried(read: Callable[[], object] = read) -> None:
                try:
                    read()
                except ParseError as error:
                    assert len(str(error)) < 1000

            in_time(tried)


def example_of(task: str) -> Example:
    """A row with all that any rule asks for."""
    return Example(
        get(task).benchmark,
        task,
        "Ann entered the hall.",
        "Where is the hat?",
        "neutral" if get(task).benchmark == "opentom" else "no",
        answer_kind="yes_no" if "yes_no" in task else "span",
        choices=("no", "yes"),
        meta={
            **{"wrong_answer": "yes", "wrong_names": ["Bob"], "original_place": "box"},
            **{"move_to_place": "bin", "kind": "attitude", "accessibility": "accessible"},
        },
    )


def graders() -> list[Task]:
    """One task of those that find and compare answers to :func:`example_of` in the same way."""
    asked = lambda t: (t.benchmark == "opentom", "yes_no" in t.name)  # noqa: E731
    return list({(asked(t), t.match, t.strict, t.extract): t for t in all_tasks()}.values())


@pytest.mark.parametrize("task", graders(), ids=lambda task: task.name)
def test_every_grader_ends(task: Task) -> None:
    example = example_of(task.name)
    for unit in (*UNITS, *ANSWERS):
        text = unit * (MEGABYTE // len(unit))
        for frame in ("{}", "</think><answer>{}</answer>"):
            task.grade(frame.format(unit), example)  # what loads late is loaded by now
            in_time(partial(task.grade, frame.format(text), example), 1)


@pytest.mark.parametrize("unit", ["a. ", "Ann thinks the hat is in the box. ", "\n", "1 "])
def test_the_reasoning_of_a_megabyte_is_read(unit: str) -> None:
    words = "".join(f"w{number}. " for number in range(4000))
    text = unit * (MEGABYTE // len(unit))
    for response, story in ((f"{text}</think>", words), (f"{words}</think>", text + words)):
        example = Example("hi_tom", "hi_tom", story, "Where is the hat really?", "box")
        in_time(partial(reward, load_preset("fidelity"), response, example))
        in_time(partial(has_own_words, response, example))


LONG = "x [/bold] \x1b[2J" * (MEGABYTE // 16)
ROWS = {
    "story": {"story": LONG, "question": "q", "answer": "a"},
    "question": {"story": "s", "question": LONG, "answer": "a"},
    "choices": {"story": "s", "question": "q", "answer": "a", "choices": LONG},
    "id": {"story": "s", "question": "q", "answer": "a", "id": LONG},
    "type": {"story": "s", "question": "q", "answer": "a", "question_type": LONG},
    "half": {"story": "s", "question": "q", "answer": "a", "id": "\ud800"},
}


def ended(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> int:
    """Type a command; return its status. What it says is short and without sequences."""
    monkeypatch.setattr(sys, "argv", ["tomrl", *words])
    status = 0
    try:
        main()
    except SystemExit as end:
        status = int(end.code or 0)
    said = capsys.readouterr()
    assert len(said.err) < 10_000 and "\x1b" not in said.out + said.err
    return status


@pytest.mark.parametrize("command", ["solve", "check", "explain"])
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_commands_on_a_megabyte(
    tmp_path: Path,
    command: str,
    row: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_text(f"{json.dumps(row)}\n" * 2 if "id" not in row else json.dumps(row))
    target = {"solve": ["-o", "out.jsonl"], "check": ["-d", "out.jsonl"], "explain": []}[command]
    words = ("tom", command, "-b", "tomi", "in.jsonl", *target)
    assert ended(monkeypatch, capsys, *words) in (0, 2)


@pytest.mark.parametrize("task", ["hi_tom", "gsm8k", "opentom"])
def test_scores_of_a_megabyte(
    tmp_path: Path, task: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    example = {"story": LONG, "question": LONG, "meta": {"kind": LONG}}
    rows = [
        {"completion": LONG, "ground_truth": LONG, "task": task, **example},
        {"completion": "x", "ground_truth": "y", "task": LONG},
    ]
    words = ("reward", "score", "--preset", "fidelity", "in.jsonl", "-o", "out.jsonl")
    for status, row in zip((0, 2), rows, strict=True):
        Path("in.jsonl").write_text(json.dumps(row))
        assert ended(monkeypatch, capsys, *words) == status
