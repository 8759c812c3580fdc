"""Stage ``judge@cell``: do its answers follow beliefs or a rule, and is its reasoning faithful?

Where each question was answered several times, the first answers are judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from pipeline.config.data import SuiteTask
from pipeline.data.codec import read_column
from pipeline.evaluate.records import Evaluation
from pipeline.evaluate.samples import first_samples
from pipeline.judge.columns import judged_together
from pipeline.judge.items import Item
from pipeline.judge.records import TaskVerdict, Verdicts
from pipeline.judge.signatures import single_signatures
from pipeline.judge.verdict import judge
from pipeline.records import damage, unreadable
from pipeline.stages.common import Stage, run
from pipeline.stages.mirror import mirror
from pipeline.tasks.example import Example
from pipeline.tracking import cell_run


def main(stage: Stage, key: str) -> None:
    """Judge one cell by the responses that were recorded."""
    stage.params.cell(key)
    folder = stage.runs / key
    columns = stage.params.suite.tasks
    metrics = folder / "evaluate" / "metrics.json"
    scores = Evaluation.read_of(metrics, columns, f"evaluate@{key}")
    target = folder / "judge" / "verdicts.json"
    if scores.absent is not None:
        Verdicts(tasks={}, absent=scores.absent).write(target)
        print(f"judge {key}: absent: {scores.absent}")
        return
    answered = _items(stage, key, columns)
    tasks = {
        task: _verdict(names, [item for name in names for item in answered[name]])
        for task, names in judged_together(columns).items()
    }
    with cell_run(stage.params, key, stage.root, stage.name) as tracker:
        Verdicts(tasks=tasks).write(target)
        mirror(tracker, stage.params, key, stage.name, stage.root)
    for task, verdict in tasks.items():
        print(
            f"judge {key}: {task}: answers follow {verdict.follow}, reasoning is "
            f"{verdict.reasoning}"
        )


def _items(stage: Stage, key: str, columns: Mapping[str, SuiteTask]) -> dict[str, list[Item]]:
    """Return what was answered, by column."""
    folder = stage.runs / key / "evaluate"
    made_by = f"evaluate@{key}"
    responses = _read(folder / "responses.parquet", ["id", "task", "response"], made_by)
    grades = _read(folder / "grades.parquet", ["id", "correct", "extracted"], made_by)
    if list(responses["id"]) != list(grades["id"]):
        raise damage(folder / "grades.parquet", "it grades other responses", made_by)
    answered = responses.join(grades[["correct", "extracted"]])
    found: dict[str, list[Item]] = {}
    for name, column in columns.items():
        examples = read_column(stage.data / "suite" / f"{name}.parquet", column.task)
        rows = answered[answered["task"] == name]
        if [example.id for example in examples] != list(rows["id"]):
            why = f"its column {name} does not answer the questions of the suite"
            raise damage(folder / "responses.parquet", why, made_by)
        found[name] = _of_column(examples, rows)
    return found


def _read(path: Path, columns: list[str], made_by: str) -> pd.DataFrame:
    try:
        return first_samples(pd.read_parquet(path))[columns]
    except (OSError, ValueError, KeyError) as error:
        raise unreadable(path, error, made_by) from None


def _of_column(examples: Sequence[Example], rows: pd.DataFrame) -> list[Item]:
    answered = zip(rows["response"], rows["extracted"], rows["correct"], strict=True)
    return [
        Item(example, response, extracted if isinstance(extracted, str) else None, bool(correct))
        for example, (response, extracted, correct) in zip(examples, answered, strict=True)
    ]


def _verdict(columns: list[str], items: Sequence[Item]) -> TaskVerdict:
    return TaskVerdict.of(columns, judge(items), [s.as_json() for s in single_signatures(items)])


if __name__ == "__main__":
    run("judge", main)
