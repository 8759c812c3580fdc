"""``tomrl reward``: rewards of given responses, without any model."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pipeline.base.errors import UserError
from pipeline.base.plugins import REWARDS
from pipeline.cli.output import check_output, is_standard_output
from pipeline.cli.reading import TABLE, refuse_same_file
from pipeline.cli.rows import read_rows, write_rows
from pipeline.cli.terminal import Terminal
from pipeline.evaluate.answers import refuse_missing
from pipeline.formats.plural import counted
from pipeline.reward.presets import load_preset, safe_reward
from pipeline.reward.reward import Preset as Reward
from pipeline.tasks import registry
from pipeline.tasks.example import Example

DEFAULT_TASK = "hi_tom"
OPTIONAL = (
    *("task", "benchmark", "story", "question", "question_type"),
    *("answer_kind", "choices", "order", "meta"),
)

app = typer.Typer(
    no_args_is_help=True,
    help="Score responses by the rewards that training pays. Needs no model.",
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
            metavar="FILE",
            help=f"{TABLE} Columns: completion (the text after the pre-filled `<think>`) and "
            f"ground_truth. Also those of {', '.join(OPTIONAL)} that the task's grading or the "
            f"preset reads; an error names a missing one. The task is {DEFAULT_TASK} unless told.",
        ),
    ],
    preset: Annotated[Preset, typer.Option("--preset", "-p", help="The reward preset.")],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Where to write one line per row, in order: score, format_ok, extracted, correct "
            "(by the published rule), strict.",
        ),
    ],
) -> None:
    """Score every response of a file.

    A response on which grading fails scores as an empty one; the output counts them.
    """
    refuse_same_file(source, output)
    check_output(output)
    chosen = load_preset(preset.value)
    given = [safe_reward(chosen, *row) for row in read_completions(source, DEFAULT_TASK, chosen)]
    rows: list[dict[str, object]] = [
        {
            "score": each.score,
            "format_ok": each.grade.format_ok,
            "extracted": each.grade.extracted,
            "correct": each.grade.correct,
            "strict": each.grade.strict,
        }
        for each in given
    ]
    write_rows(output, rows)
    mean = sum(each.score for each in given) / len(given)
    failed = [each.error for each in given if each.error is not None]
    note = f"; grading failed on {len(failed)}, first with {failed[0]}" if failed else ""
    Terminal(stderr=is_standard_output(output)).say(
        f"{counted(len(given), 'score')} written to {output}, mean {mean:.4g}{note}"
    )


def read_completions(
    source: Path, default_task: str, preset: Reward
) -> Iterator[tuple[str, Example]]:
    """Yield completions with the examples that grade them.

    Args:
        source: A table; see :func:`pipeline.formats.tables.read_table`.
        default_task: The task of rows without one.
        preset: The reward, which may read further fields.

    Raises:
        UserError: At the first malformed row, by file and place, with the missing field.
    """
    for where, row in read_rows(source, ("completion", "ground_truth"), OPTIONAL):
        try:
            task = registry.get(row.get("task", default_task))
            example = Example(
                benchmark=row.get("benchmark", task.benchmark),
                task=task.name,
                story=row.get("story", ""),
                question=row.get("question", ""),
                answer=row["ground_truth"],
                answer_kind=row.get("answer_kind", "span"),
                choices=row.get("choices"),
                order=row.get("order"),
                question_type=row.get("question_type", ""),
                meta=row.get("meta", {}),
                story_id="-",
                id="-",
            )
            refuse_missing(row, task.reads(example), f"grading this row of {task.name}")
            refuse_missing(row, preset.reads, "this reward")
        except UserError as error:
            raise UserError(f"{source}, {where}: {error}") from None
        yield row["completion"], example
