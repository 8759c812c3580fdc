"""The results of a study as data frames, for notebooks and scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from pipeline.analysis.collect import collect
from pipeline.analysis.results import CellResult, Results
from pipeline.analysis.signatures import cell_signatures
from pipeline.analysis.verdicts import cell_verdicts
from pipeline.base.home import find_root
from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.params_file import read_params
from pipeline.config.study_files import find_study
from pipeline.judge.recorded import read_suite, read_table
from pipeline.tasks.example import Example

_GRADES = ("id", "task", "correct", "extracted")


@dataclass(frozen=True)
class Frames:
    """What was found, read when it is first asked for. Accuracies are shares, from 0 to 1.

    Attributes:
        params: The study.
        root: The checkout.
    """

    params: Params
    root: Path

    @cached_property
    def _collected(self) -> Results:
        return collect(self.params, self.root, failures={})

    @cached_property
    def table(self) -> pd.DataFrame:
        """The result table: a row for each trained cell and column, beside its base model."""
        return pd.DataFrame([row.model_dump(mode="json") for row in self._collected.rows()])

    @cached_property
    def cells(self) -> pd.DataFrame:
        """A row for each cell: how it was made, and its accuracy on each column."""
        return pd.DataFrame([_of_cell(each) for each in self._collected.cells.values()])

    @cached_property
    def grades(self) -> pd.DataFrame:
        """A row for each response: cell, column, question, and whether it is right."""
        asked = self._asked(lambda e: {"story": e.story_id})
        asked["order"] = asked["order"].astype("Int64")  # of side-checks there is none
        return self._told("grades.parquet", _GRADES).merge(asked, how="left")

    @cached_property
    def answers(self) -> pd.DataFrame:
        """A row for each response about minds, with its question, as ``tomrl.judge`` reads rows."""
        kept = ("story", "question", "choices", "answer", "meta")
        asked = self._asked(lambda e: {name: getattr(e, name) for name in kept})
        return self._told("responses.parquet", ("id", "task", "response")).merge(asked)

    def _asked(self, fields: Callable[[Example], Mapping[str, object]]) -> pd.DataFrame:
        """The questions of the suite, with fields of each."""
        study, columns = self.params.study.name, self.params.suite.tasks
        suite = read_suite(self.root / "data" / study / "suite", columns)
        return pd.DataFrame(
            [
                {"column": name, "id": e.id, "order": e.order, **fields(e)}
                for name, examples in suite.items()
                for e in examples
            ]
        )

    def _told(self, file: str, columns: Sequence[str]) -> pd.DataFrame:
        """A table that the evaluation of every cell has left."""
        runs = self.root / "runs" / self.params.study.name
        found = [
            read_table(runs / key / "evaluate" / file, columns, f"evaluate@{key}").assign(cell=key)
            for key, result in self._collected.cells.items()
            if result.was_run
        ]
        there = pd.concat(found) if found else pd.DataFrame(columns=[*columns, "cell"])
        return there.rename(columns={"task": "column"})

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """A row for each cell and task: what the answers follow, and what the reasoning is."""
        found = cell_verdicts(self._collected, cell_signatures(self._collected))
        return pd.DataFrame([verdict.model_dump(mode="json") for verdict in found])

    @cached_property
    def curves(self) -> pd.DataFrame:
        """A row for each trained cell and step: what was measured."""
        return pd.DataFrame(
            [{"cell": each.key, **row} for each in self._collected.trained() for row in each.curve]
        )


@dataclass(frozen=True)
class LoadedStudy:
    """A study and its results.

    Attributes:
        params: The study, every parameter resolved.
        results: What was found, as data frames.
    """

    params: Params
    results: Frames


def load(study: str | None = None, root: Path | None = None) -> LoadedStudy:
    """Load a study; cells without results are marked, and left out where results are needed.

    Args:
        study: Its name; that in ``params.yaml`` if absent.
        root: The checkout; that of the working directory if absent.

    Raises:
        UserError: If there is no such study or checkout.
    """
    root = find_root(root)
    params = read_params(root / "params.yaml")
    if study is not None and study != params.study.name:
        params = expand(find_study(root, study))
    return LoadedStudy(params, Frames(params, root))


def _of_cell(result: CellResult) -> dict[str, object]:
    cell = result.cell
    return {
        "cell": result.key,
        "model": cell.model,
        "combination": cell.combination,
        "algorithm": None if cell.algorithm is None else cell.algorithm.name,
        "seed": cell.seed,
        "missing": None if result.missing is None else result.missing.text(),
        **{column: scores.accuracy for column, scores in result.all_tasks().items()},
    }
