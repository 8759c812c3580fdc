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
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from benchmarks.circumstances import FOLDER, circumstances_of_study
from pipeline.analysis.results import Row
from pipeline.analysis.seeds import SeedChange, Standing
from pipeline.analysis.summary import StudySummary
from pipeline.analysis.tables import Line
from pipeline.analysis.verdicts import CellVerdict
from pipeline.audit.records import Audit, Best, Learned
from pipeline.audit.sets import learned_baseline
from pipeline.base.errors import UserError
from pipeline.cli.output import write_output
from pipeline.config.params import Params, TrainedCell
from pipeline.config.params_file import read_params
from pipeline.data.codec import read_column
from pipeline.formats.records import Record
from pipeline.judge.followers import Kind, Questions
from pipeline.judge.records import TaskVerdict, Verdicts
from pipeline.ops.driver.checkout import find_root
from pipeline.rules.listed import is_gold
from pipeline.rules.reading import read_all
from pipeline.stages.audit import written_examples
from pipeline.stages.common import Stage
from pipeline.tasks.example import Example
from pipeline.train.contract import read_training
from pipeline.train.stall import find_stall

_LATER_SEED = re.compile(r"-s[1-9]\d*$")


class Share(Record):
    """A share with its 95 % interval."""

    value: float
    low: float
    high: float


class Verdict(Record):
    """The verdict on a cell and a task, in numbers.

    Attributes:
        cell: Key of the cell.
        model: Title of its model.
        combination: What it is trained on; empty for a base model.
        task: The task.
        answers: What the answers follow.
        by: The rule or simpler mind that they follow; else None.
        explained: Share of the answers that the best rule or mind predicts.
        found: What could have been found.
        copied: Share of answers that are those of ``by`` where that is wrong.
        reasoning: What the reasoning is.
        true: Share of true statements.
        used: Share of edits that are followed; None where it is not known.
        signatures: Names of the signatures that it shows.
    """

    cell: str
    model: str
    combination: str
    task: str
    answers: str
    by: str | None
    explained: float
    found: dict[str, float | None]
    copied: Share | None
    reasoning: str
    true: Share | None
    used: Share | None
    signatures: list[str]


class TrainingSet(Record):
    """What pays on a training set.

    Attributes:
        rows: Its questions.
        learned: What rules score that are learned from other stories of it.
        rule: The best listed rule.
        minds: Accuracy of each simpler mind.
    """

    rows: int
    learned: Learned
    rule: Best
    minds: dict[str, float]


class Stored(Record):
    """What is kept of a study.

    Attributes:
        study: Its name.
        title: Its title.
        commit: The commit that made the results.
        processor: The processor that they were made on.
        libraries: The libraries that they were made with, by name.
        steps: Steps of training.
        prompts: Prompts of a step.
        rollouts: Completions of a prompt.
        verdicts: The verdict on each cell.
        rows: The result table.
        over_seeds: What training changed over seeds, where there are several.
        standings: What cells and rules score over seeds.
        training: What pays on each training set.
        columns: What learned rules score on columns that no rule solves, halves of one together.
        test_time: What prompt programs and trainings get right, beside tokens.
        chained: What each training changed that starts from another cell's weights.
        stalled: Cells that stopped learning: from which step on, and the share of right answers.
    """

    study: str
    title: str
    commit: str
    processor: str
    libraries: dict[str, str]
    steps: int
    prompts: int
    rollouts: int
    verdicts: list[Verdict]
    rows: list[Row]
    over_seeds: list[SeedChange]
    standings: list[Standing]
    training: dict[str, TrainingSet]
    columns: dict[str, Learned] = Field(default={})
    test_time: list[Line] = Field(default_factory=list, exclude_if=lambda found: not found)
    chained: list[Line] = Field(default_factory=list, exclude_if=lambda found: not found)
    stalled: dict[str, tuple[int, float]] = Field(
        default_factory=dict, exclude_if=lambda found: not found
    )


def read_stored(root: Path, study: str) -> Stored | None:
    """What is kept of a study; None where nothing is."""
    path = root / FOLDER / f"{study}.json"
    made_by = f"python -m benchmarks.stored {study}"
    return Stored.read(path, made_by) if path.exists() else None


def stored(root: Path, study: str) -> Stored:
    """What is to be kept of a study's results.

    Raises:
        UserError: If the study has no report in this checkout, or another one is in use there.
    """
    path = root / "reports" / study / "results.json"
    if not path.exists():
        raise UserError(f"{path} is missing; make it with: tomrl run {study}")
    report, params = StudySummary.read(path, "report"), read_params(root / "params.yaml")
    if params.study.name != study:
        raise UserError(f"{root} has study {params.study.name} in use; tomrl study use {study}")
    (first, *_) = (cell.train for cell in params.cells.values() if isinstance(cell, TrainedCell))
    return Stored(
        study=study,
        title=params.study.title,
        **circumstances_of_study(root, study),
        steps=first.steps or 0,
        prompts=first.prompts_per_step,
        rollouts=first.rollouts,
        verdicts=[_verdict(root / "runs" / study, each) for each in report.verdicts],
        rows=[r for r in report.rows if r.trained is not None],
        over_seeds=report.over_seeds,
        standings=report.standings,
        training=dict(_training_sets(root, params)),
        columns=dict(_columns(root / "data" / study / "suite", params)),
        test_time=report.test_time,
        chained=report.steps,
        stalled=dict(_stalled(root / "runs" / study, params)),
    )


def _stalled(runs: Path, params: Params) -> Iterator[tuple[str, tuple[int, float]]]:
    """Yield the cells that stopped learning, with the step and the share of right answers."""
    for key, cell in params.cells.items():
        if isinstance(cell, TrainedCell):
            curve, _ = read_training(runs / key / "train", cell.model, f"train@{key}")
            if stall := find_stall(curve):
                yield key, (stall.step, stall.accuracy)


def _verdict(runs: Path, found: CellVerdict) -> Verdict:
    """A verdict with the numbers that the cell's own file has."""
    path = runs / found.cell / "judge" / "verdicts.json"
    whole = Verdicts.read(path, f"judge@{found.cell}").tasks[found.task]
    reasoning = whole.evidence["reasoning"]
    kept = found.model_dump(include=set(Verdict.model_fields))
    return Verdict(
        **kept,
        copied=_share(_beside(whole).get("copied")),
        true=_share(reasoning["true"]),
        used=_share(reasoning["used"]),
    )


def _beside(found: TaskVerdict) -> dict[str, dict[str, float] | None]:
    """The answers beside the rule or mind that they follow."""
    return next((rule for rule in found.rules if rule["rule"] == found.by), {})


def _share(found: dict[str, float] | None) -> Share | None:
    if found is None:
        return None
    return Share(**{name: found[name] for name in Share.model_fields})


def _training_sets(root: Path, params: Params) -> Iterator[tuple[str, TrainingSet]]:
    """Yield what pays on each training set, by its key; of several seeds, on those of the first."""
    audit = Audit.read(root / "runs" / params.study.name / "audit" / "audit.json", "audit")
    for key, entry in params.dataset.items():
        if _LATER_SEED.search(key):
            continue
        examples = written_examples(Stage("audit", root, params), key, "train", entry.train)
        listed, minds = _followed(examples)
        best = max(listed, key=lambda name: listed[name])
        rule = Best(rule=best, accuracy=listed[best])
        found = TrainingSet(rows=len(examples), learned=audit.learned[key], rule=rule, minds=minds)
        yield key, found


def _columns(folder: Path, params: Params) -> Iterator[tuple[str, Learned]]:
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
            yield " and ".join(names), learned


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


def keep(source: Path, study: str, target: Path) -> None:
    """Write what is kept of a study.

    Args:
        source: The checkout that has its results.
        study: The study.
        target: The folder of documentation.
    """
    found = stored(source, study)
    (target / "results").mkdir(parents=True, exist_ok=True)
    write_output(target / "results" / f"{study}.json", found.text())


def main() -> int:
    """Write what is kept of a study."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("study")
    parser.add_argument("--from", type=Path, dest="checkout", help="where the results are")
    options, root = parser.parse_args(), find_root()
    keep(options.checkout or root, options.study, root / "docs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
