"""``tomrl reward``: what a reward preset says of given responses, without any model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from pipeline.errors import UserError
from pipeline.files import write_lines
from pipeline.plugins import REWARDS
from pipeline.plural import counted
from pipeline.reward.presets import load_preset, safe_reward
from pipeline.tasks import registry
from pipeline.tasks.example import Example

DEFAULT_TASK = "hi_tom"

app = typer.Typer(
    no_args_is_help=True,
    help="Score responses by the rules that training uses. No model involved.",
    epilog="Example: `tomrl reward score --preset rlvr responses.jsonl -o scores.jsonl`",
)
Preset = StrEnum("Preset", {name: name for name in REWARDS})  # type: ignore[misc]


@app.callback()
def _group() -> None:
    """Keep ``score`` a command of its own."""


@app.command(epilog="Example: tomrl reward score --preset rlvr responses.jsonl -o scores.jsonl")
def score(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="IN.jsonl",
            help="One JSON object a line: completion (the text after the pre-filled `<think>`) and "
            "ground_truth; optional are task (whose grading rules apply), and story and question, "
            "which the preset fidelity reads.",
        ),
    ],
    preset: Annotated[Preset, typer.Option("--preset", "-p", help="The reward.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Where to write one line per row, in order: score, format_ok, extracted, correct.",
        ),
    ],
    task: Annotated[
        str, typer.Option(help="Grading rules of rows that name no task.")
    ] = DEFAULT_TASK,
    weight: Annotated[
        float | None, typer.Option(min=0, max=1, help="Of fidelity: weight of the reasoning.")
    ] = None,
) -> None:
    """Score every response of a file.

    A response on which grading itself fails is scored as an empty one and counted.
    """
    if source.resolve() == output.resolve():
        raise UserError(f"{output} is the input file; choose another output")
    registry.get(task)
    chosen = load_preset(preset.value, {} if weight is None else {"weight": weight})
    given = [
        safe_reward(chosen, completion, example) for completion, example in _rows(source, task)
    ]
    rows: list[dict[str, object]] = [
        {
            "score": each.score,
            "format_ok": each.grade.format_ok,
            "extracted": each.grade.extracted,
            "correct": each.grade.correct,
        }
        for each in given
    ]
    try:
        write_lines(output, rows)
    except OSError as error:
        raise UserError(f"{output}: cannot be written ({error.strerror})") from None
    mean = sum(each.score for each in given) / len(given)
    failed = sum(each.error is not None for each in given)
    note = f"; grading failed on {failed}" if failed else ""
    Console().print(
        f"{counted(len(given), 'score')} written to {escape(str(output))}, mean {mean:.4g}{note}",
        soft_wrap=True,
        highlight=False,
    )


def _rows(source: Path, default_task: str) -> Iterator[tuple[str, Example]]:
    """Yield completions with the examples that grade them; blank lines are skipped.

    Raises:
        UserError: At the first line that is not as it should be, by file and line.
    """
    found = False
    for number, line in enumerate(_read(source).split(b"\n"), 1):
        if line.strip():
            found = True
            yield _row(f"{source}:{number}", line, default_task)
    if not found:
        raise UserError(f"{source} holds no rows; write one JSON object a line")


def _read(source: Path) -> bytes:
    try:
        return source.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{source}: there is no such file") from None
    except OSError as error:
        raise UserError(f"{source}: cannot be read ({error.strerror})") from None


def _row(where: str, line: bytes, default_task: str) -> tuple[str, Example]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not valid JSON ({error})") from None
    if not isinstance(row, dict):
        raise UserError(f"{where}: expected a JSON object, found {type(row).__name__}")
    for name in ("completion", "ground_truth"):
        if name not in row:
            raise UserError(
                f"{where}: the field {name!r} is missing; needed: completion, ground_truth"
            )
    for name in ("completion", "ground_truth", "task", "story", "question"):
        if not isinstance(row.get(name, ""), str):
            kind = type(row[name]).__name__
            raise UserError(f"{where}: the field {name!r} must be text, found {kind}")
        try:
            row.get(name, "").encode()
        except UnicodeEncodeError:
            raise UserError(
                f"{where}: the field {name!r} holds half of a surrogate pair (\\ud800 to \\udfff), "
                "which no text file can hold; remove or complete it"
            ) from None
    name = row.get("task", default_task)
    try:
        benchmark = registry.get(name).benchmark
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    texts = (row.get("story", ""), row.get("question", ""), row["ground_truth"])
    return row["completion"], Example(benchmark, name, *texts, story_id="-", id="-")
