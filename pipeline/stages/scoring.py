"""What the stages ``evaluate`` and ``gsm8k`` share: run, grade, write, track."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.config.params import Cell
from pipeline.errors import UserError
from pipeline.evaluate.engine import Engine, TransformersEngine
from pipeline.evaluate.metrics import task_metrics
from pipeline.evaluate.runner import Graded, evaluate, write_grades, write_responses
from pipeline.files import remove_leftovers, write_json, write_lines
from pipeline.model.decode import Sampling
from pipeline.model.weights import resolve
from pipeline.progress import ProgressReport
from pipeline.stages.common import Stage, cell_folder, use_threads
from pipeline.tasks.example import Example
from pipeline.tracking import cell_tracker, scores


def score_cell(
    stage: Stage,
    key: str,
    columns: dict[str, list[Example]],
    *,
    prompt: str,
    sampling: Sampling,
    batch: int,
) -> None:
    """Run a cell's model over columns of examples; write responses, grades and metrics."""
    cell, folder, logs = cell_folder(stage, key)
    remove_leftovers(folder)
    use_threads(stage.params.study.threads)
    engine = _engine(stage, key, cell, batch)
    examples = [example for column in columns.values() for example in column]
    names = [name for name, column in columns.items() for _ in column]
    started = time.perf_counter()
    with ProgressReport(f"{stage.name} {key}", len(examples)) as progress:
        graded = evaluate(
            engine,
            examples,
            prompt=prompt,
            sampling=sampling,
            seed=cell.seed,
            report=progress.at,
        )
    seconds = time.perf_counter() - started
    metrics = {"engine": engine.name, "prompt": prompt, "tasks": _by_column(columns, graded)}
    timing = [_timing(seconds, graded)]
    identity = {"model": cell.model, "engine": engine.name, "seed": cell.seed}
    write_responses(folder / "responses.parquet", examples, graded, names, **identity)  # type: ignore[arg-type]
    write_grades(folder / "grades.parquet", examples, graded, names, [(0, 0)] * len(graded))
    write_lines(logs / "timing.jsonl", timing)
    tracker = cell_tracker(stage.params, key, stage.root)
    scores(tracker, stage.name, metrics, timing)
    tracker.finish()
    write_json(logs / "tracking.json", tracker.ids())
    write_json(folder / "metrics.json", metrics)
    for name, entry in metrics["tasks"].items():  # type: ignore[attr-defined]
        print(f"{stage.name} {key}: {name} {entry['accuracy']:.1%} of {entry['count']}")


def _engine(stage: Stage, key: str, cell: Cell, batch: int) -> Engine:
    if cell.kind == "api" or cell.evaluate.engine == "openai":
        raise UserError(
            f"cell {key}: engine {cell.evaluate.engine!r} is not part of this installation; "
            f"allowed: hf, vllm. Set cells.{key}.evaluate.engine"
        )
    manifest: Path = stage.runs / key / "train" / "checkpoints.json"
    folder = resolve(manifest, stage.store, f"train@{key}")
    if cell.evaluate.engine == "hf":
        return TransformersEngine(folder, batch)
    from pipeline.evaluate.vllm_engine import Here, OnCluster, VllmEngine

    on_cluster = os.environ.get("RAY_ADDRESS")
    launch = OnCluster() if on_cluster else Here(stage.root, stage.params.study.threads)
    return VllmEngine(folder, stage.work("vllm", key), launch)


def _by_column(columns: dict[str, list[Example]], graded: Sequence[Graded]) -> dict[str, Any]:
    start, result = 0, {}
    for name, examples in columns.items():
        result[name] = task_metrics(examples, graded[start : start + len(examples)])
        start += len(examples)
    return result


def _timing(seconds: float, graded: Sequence[Graded]) -> dict[str, Any]:
    tokens = sum(g.response.completion_tokens for g in graded)
    return {
        "step": 0,
        "at": time.time(),
        "seconds": seconds,
        "tokens_per_second": tokens / max(seconds, 1e-9),
    }
