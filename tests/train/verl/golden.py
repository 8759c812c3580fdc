"""The recorded plans of each study's first trained cell, and of its first that imitates.

``python -m tests.train.verl.golden`` writes them anew, to be read in the diff.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from pipeline.base.errors import UserError
from pipeline.config.algorithms import Sft
from pipeline.config.expand import expand
from pipeline.config.params import Params, TrainedCell
from pipeline.config.study_files import load_study, study_files
from pipeline.ops.verl.overrides import as_arguments
from pipeline.ops.verl.plan import Plan, count_rows, plan_of
from pipeline.train.accelerators import GIB

PROJECT = Path(__file__).resolve().parents[3]
FOLDER = Path(__file__).resolve().parent / "recorded"
STAND_IN = 1000
"""Training prompts of studies whose data must be made before it can be counted."""


def plans_of_study(path: Path) -> dict[str, Plan]:
    """The plans of a study's first trained cell and of its first that imitates, by cell.

    Cells with a schedule of the learning rate, and those that imitate and choose the best step, are
    for the local trainer; verl refuses them by name. A study of nothing else has no plans.
    """
    params = expand(load_study(path))
    trained = {
        key: cell
        for key, cell in params.cells.items()
        if isinstance(cell, TrainedCell)
        and cell.train.learning_rate_schedule == "constant"
        and (cell.algorithm.samples or cell.train.checkpoint == "last")
    }
    if not trained:
        return {}
    imitating = [key for key, cell in trained.items() if isinstance(cell.algorithm, Sft)]
    return {key: _plan(params, trained, key) for key in (next(iter(trained)), *imitating[:1])}


def plan_of_cell(path: Path, key: str) -> Plan:
    """The plan of one cell."""
    params = expand(load_study(path))
    return _plan(params, {key: params.trained_cell(key)}, key)


def _plan(params: Params, trained: dict[str, TrainedCell], key: str) -> Plan:
    try:
        rows = count_rows(params, trained[key])
    except UserError:
        rows = STAND_IN
    return plan_of(params, key, rows)


def text_of(path: Path) -> str:
    """What is recorded of a study: one document for each plan."""
    return "---\n".join(_text(key, plan) for key, plan in plans_of_study(path).items())


def _text(key: str, plan: Plan) -> str:
    place = plan.placement
    memory = {
        phase: {name: round(held / GIB, 3) for name, held in items.items() if held}
        for phase, items in (
            *place.phases.items(),
            ("host", place.host),
        )
    }
    content: dict[str, Any] = {
        "cell": key,
        "rows": plan.rows,
        "place": place.describe(),
        "memory in GiB": memory,
        "arguments": as_arguments(plan.overrides),
    }
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10_000)


def main() -> None:
    """Record every study."""
    for old in FOLDER.glob("*.yaml"):
        old.unlink()
    FOLDER.mkdir(exist_ok=True)
    for name, path in study_files(PROJECT).items():
        if text := text_of(path):
            (FOLDER / f"{name}.yaml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
