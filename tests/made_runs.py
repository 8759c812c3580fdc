"""The files of finished cells, made up, for tests of what MLflow is told of them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from pipeline.config.params import Params, TrainedCell
from pipeline.evaluate.records import Evaluation
from pipeline.formats.files import write_json, write_lines, write_text
from pipeline.model.manifest import Manifest, StoredModel
from pipeline.train.kept_rollouts import TABLE, write_rollouts
from tests.analysis.made import scores

ACCURACY = {"nano-base": 0.25, "nano-hi": 0.75, "micro-base": 0.5, "micro-hi": 0.5}
STEPS = 12


def write_cell(params: Params, root: Path, key: str) -> None:
    """Write what the stages of a cell of the tests' study leave."""
    cell, folder = params.cells[key], root / "runs" / params.study.name / key
    digest = f"{sorted(ACCURACY).index(key) + 1:064x}"
    if isinstance(cell, TrainedCell):
        curve = [
            {"step": step, "reward_mean": 1 - ACCURACY[key] ** (1 + step / 4), "accuracy": 0.5}
            | {"length_mean": 20.0 - step / 4, "length_median": 20.0, "validation_accuracy": 0.5}
            for step in range(1, STEPS + 1)
        ]
        write_lines(
            folder / "train" / "metrics.jsonl", [{"step": 0, "validation_accuracy": 0.1}, *curve]
        )
        stored = {"best": StoredModel(step=STEPS, digest=digest, validation_accuracy=0.5)}
        stored["last"] = StoredModel(step=STEPS, digest=digest)
        manifest = Manifest(model=cell.model, use="best", checkpoints=stored, skipped_prompts=0)
    else:
        write_text(folder / "train" / "metrics.jsonl", "")
        base = {"base": StoredModel(step=0, digest=digest)}
        manifest = Manifest(model=cell.model, use="base", checkpoints=base)
    manifest.write(folder / "train" / "checkpoints.json")
    write_rollouts(None, folder / "train" / TABLE)
    write_json(folder / "train" / "config.json", {"cell": key})
    found = dict.fromkeys(params.suite.columns, scores(ACCURACY[key]))
    Evaluation(engine="hf", prompt="compact", libraries={}, tasks=found).write(
        folder / "evaluate" / "metrics.json"
    )
    rows = pd.DataFrame(
        [{"id": f"{n}", "task": task} for task in params.suite.columns for n in range(7)]
    )
    answers = rows.assign(response="<script>alert(1)</script> box", completion_tokens=3)
    answers.to_parquet(folder / "evaluate" / "responses.parquet")
    grades = rows.assign(correct=True, extracted="box", tokens=3)
    grades.to_parquet(folder / "evaluate" / "grades.parquet")


def write_study(params: Params, root: Path) -> None:
    """Write the data, all cells and the report of the tests' study."""
    data = root / "data" / params.study.name
    for column in params.suite.columns:
        write_text(data / "suite" / f"{column}.parquet", f"questions of {column}")
    write_text(data / "combos" / "hi" / "train.parquet", "examples")
    for key in params.cells:
        write_cell(params, root, key)
    name = params.study.name
    write_text(root / "reports" / name / "index.html", "<title>report</title>")
    write_json(
        root / "results" / name / "metrics.json",
        {key: {"hi": 100 * x} for key, x in ACCURACY.items()},
    )
