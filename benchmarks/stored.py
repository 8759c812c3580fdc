"""The results that pages quote, kept small in ``docs/results`` with what they were made on.

Run ``python -m benchmarks.stored STUDY`` after ``tomrl run STUDY``: it keeps verdicts, scores and
changes of the study, what rules and simpler minds score on its training sets, and the commit, the
processor and the libraries. ``--from CHECKOUT`` takes results that lie in another checkout, on the
machine that made them. ``python -m benchmarks.quoted`` then fills the blocks of pages.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from benchmarks.circumstances import FOLDER, circumstances_of_study
from pipeline.audit.records import Audit
from pipeline.audit.sets import learned_baseline
from pipeline.base.errors import UserError
from pipeline.cli.output import write_output
from pipeline.config.params import Params, TrainedCell
from pipeline.config.params_file import read_params
from pipeline.data.codec import read_column
from pipeline.formats.files import json_text, read_json
from pipeline.judge.followers import Kind, Questions
from pipeline.judge.records import Verdicts
from pipeline.ops.driver.checkout import find_root
from pipeline.rules.listed import is_gold
from pipeline.rules.reading import read_all
from pipeline.stages.audit import written_examples
from pipeline.stages.common import Stage
from pipeline.tasks.example import Example
from pipeline.train.contract import read_training
from pipeline.train.stall import find_stall

_LATER_SEED = re.compile(r"-s[1-9]\d*$")

Stored = Mapping[str, Any]
"""What is kept of a study: :func:`stored`, as JSON has it."""

_VERDICT = (
    *("cell", "model", "combination", "task", "answers", "by", "explained", "found", "copied"),
    *("reasoning", "true", "used", "signatures"),
)
"""What is kept of a verdict, with the shares behind it."""


def read_stored(root: Path, study: str) -> Stored | None:
    """What is kept of a study; None where nothing is."""
    path = root / FOLDER / f"{study}.json"
    return cast(Stored, read_json(path)) if path.exists() else None


def stored(root: Path, study: str) -> dict[str, Any]:
    """What is to be kept of a study's results.

    Its verdicts, result table, changes and standings over seeds are those of the report;
    ``training`` is what pays on each training set, ``columns`` what learned rules score on columns
    that no rule solves, halves of one together. ``test_time``, ``chained`` (trainings that start
    from another cell's weights) and ``stalled`` (cells that stopped learning: from which step on,
    and the share of right answers) are there where there are any.

    Raises:
        UserError: If the study has no report in this checkout, or another one is in use there.
    """
    path = root / "reports" / study / "results.json"
    if not path.exists():
        raise UserError(f"{path} is missing; make it with: tomrl run {study}")
    report, params = read_json(path), read_params(root / "params.yaml")
    if params.study.name != study:
        raise UserError(f"{root} has study {params.study.name} in use; tomrl study use {study}")
    (first, *_) = (cell.train for cell in params.cells.values() if isinstance(cell, TrainedCell))
    stage = Stage("audit", root, params)
    kept = {
        "study": study,
        "title": params.study.title,
        **circumstances_of_study(root, study),
        "steps": first.steps or 0,
        "prompts": first.prompts_per_step,
        "rollouts": first.rollouts,
        "verdicts": [_verdict(stage.runs, each) for each in report["verdicts"]],
        "rows": [row for row in report["rows"] if row["trained"] is not None],
        "over_seeds": report["over_seeds"],
        "standings": report["standings"],
        "training": dict(_training_sets(stage)),
        "columns": dict(_columns(stage.data / "suite", params)),
    }
    more = {
        "test_time": report.get("test_time"),
        "chained": report.get("steps"),
        "stalled": dict(_stalled(stage.runs, params)),
    }
    return kept | {name: found for name, found in more.items() if found}


def _stalled(runs: Path, params: Params) -> Iterator[tuple[str, tuple[int, float]]]:
    """Yield the cells that stopped learning, with the step and the share of right answers."""
    for key, cell in params.cells.items():
        if isinstance(cell, TrainedCell):
            curve, _ = read_training(runs / key / "train", cell.model, f"train@{key}")
            if stall := find_stall(curve):
                yield key, (stall.step, stall.accuracy)


def _verdict(runs: Path, found: Mapping[str, Any]) -> dict[str, Any]:
    """A verdict with the shares that the cell's own file has."""
    path = runs / found["cell"] / "judge" / "verdicts.json"
    whole = Verdicts.read(path, f"judge@{found['cell']}").tasks[found["task"]]
    beside = next((rule for rule in whole.rules if rule["rule"] == found["by"]), {})
    reasoning = whole.evidence["reasoning"]
    shares = {"copied": beside.get("copied"), "true": reasoning["true"], "used": reasoning["used"]}
    numbers = {
        name: share and {end: share[end] for end in ("value", "low", "high")}
        for name, share in shares.items()
    }
    return {name: numbers[name] if name in numbers else found[name] for name in _VERDICT}


def _training_sets(stage: Stage) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what pays on each training set, by its key; of several seeds, on those of the first."""
    audit = Audit.read(stage.runs / "audit" / "audit.json", "audit")
    for key, entry in stage.params.dataset.items():
        if _LATER_SEED.search(key):
            continue
        examples = written_examples(stage, key, "train", entry.train)
        listed, minds = _followed(examples)
        best = max(listed, key=lambda name: listed[name])
        yield (
            key,
            {
                "rows": len(examples),
                "learned": audit.learned[key].model_dump(mode="json"),
                "rule": {"rule": best, "accuracy": listed[best]},
                "minds": minds,
            },
        )


def _columns(folder: Path, params: Params) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what learned rules score on the columns that were chosen against them.

    The questions that a rule answers and those that it does not are columns of their own.
    """
    halves: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for name, column in params.suite.tasks.items():
        if column.hard:
            orders = tuple(map(str, column.orders or ()))
            halves.setdefault((column.task, orders), []).append(name)
    for (task, _), names in halves.items():
        found = [each for name in names for each in read_column(folder / f"{name}.parquet", task)]
        if (learned := learned_baseline(read_all(found))) is not None:
            yield " and ".join(names), learned.model_dump(mode="json")


def _followed(examples: list[Example]) -> tuple[dict[str, float], dict[str, float]]:
    """The accuracy of listed rules, and of simpler minds, by name."""
    kinds: dict[Kind, dict[str, float]] = {Kind.LISTED: {}, Kind.MIND: {}}
    for name, kind, answers in Questions.of(examples).said:
        if kind in kinds:
            right = (
                answer is not None and is_gold(answer, example)
                for answer, example in zip(answers, examples, strict=True)
            )
            kinds[kind][name] = sum(right) / len(examples)
    return kinds[Kind.LISTED], kinds[Kind.MIND]


def main() -> int:
    """Write what is kept of a study."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("study")
    parser.add_argument("--from", type=Path, dest="checkout", help="where the results are")
    options, root = parser.parse_args(), find_root()
    found = stored(options.checkout or root, options.study)
    write_output(root / FOLDER / f"{options.study}.json", json_text(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
