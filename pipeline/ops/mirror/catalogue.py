"""What MLflow has of a study beside figures by step: one process sends it, when cells are done.

For each cell the datasets, its configuration and its checkpoints as logged models; for the study a
summary and the report. All of it is read from files, and what MLflow has already is not sent again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.config.params import ApiCell, AskedCell, Params
from pipeline.evaluate.records import TaskScores
from pipeline.formats.files import digest_of, file_digest, read_json
from pipeline.model.manifest import Manifest
from pipeline.ops.mirror.done import Done
from pipeline.ops.mirror.models import LoggedCheckpoint, LoggedMetric, Models
from pipeline.ops.mirror.run import Tracker, dataset_named

log = logging.getLogger(__name__)

_FILES = (
    *("train/config.json", "train/checkpoints.json"),
    *("evaluate/metrics.json", "judge/verdicts.json"),
)
_TAGS = ("model", "combination", "algorithm", "seed", "kind", "backend", "starts_from")


@dataclass(frozen=True)
class Catalogue:
    """What is sent of a study.

    Attributes:
        params: The study.
        root: The checkout.
        parent: The study's run.
        cells: The runs of cells that have results.
    """

    params: Params
    root: Path
    parent: Tracker
    cells: Mapping[str, Tracker]

    def send(self, *, again: bool) -> None:
        """Send what MLflow lacks; a fault is said and leaves the rest to ``tomrl sync``.

        Args:
            again: Send all but models, whatever MLflow has; the report too.
        """
        try:
            for key, tracker in self.cells.items():
                self._cell(key, tracker, again)
            self._summary()
            if self._done:
                self._models()
            if again:
                self._report()
        except UserError:
            raise
        except Exception as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
            log.warning("MLflow lacks models or files (%s); send them with: tomrl sync", reason)

    @property
    def _runs(self) -> Path:
        return self.root / "runs" / self.params.study.name

    @cached_property
    def _done(self) -> dict[str, dict[str, dict[str, TaskScores]]]:
        """The scores of every cell that is evaluated; see :meth:`Done.scores`."""
        found: dict[str, dict[str, dict[str, TaskScores]]] = {}
        for key in self.cells:
            done = Done(self.params, key, "evaluate", self.root)
            if done.digest:
                found[key] = done.scores()
        return found

    @cached_property
    def _columns(self) -> dict[str, tuple[str, str]]:
        """Name and digest of each column's questions, where they are in this checkout."""
        return {column: dataset_named(path) for column, path in self._suite.items()}

    @cached_property
    def _suite(self) -> dict[str, Path]:
        folder = self.root / "data" / self.params.study.name / "suite"
        paths = {column: folder / f"{column}.parquet" for column in self.params.suite.columns}
        return {column: path for column, path in paths.items() if path.is_file()}

    def _cell(self, key: str, tracker: Tracker, again: bool) -> None:
        """Send datasets and configuration of a cell."""
        files = [path for name in _FILES if (path := self._runs / key / name).is_file()]
        state = digest_of([file_digest(path) for path in files])[:16]
        if tracker.known.get("sent.files") == state and not again:
            return
        if (self._runs / key / "evaluate").is_dir() and self._suite:
            tracker.dataset("evaluate", *self._suite.values())
        for path in files:
            tracker.artifact(path, path.parent.name)
        if not tracker.silent:
            tracker.tags({"sent.files": state})

    def _summary(self) -> None:
        """Send how many cells are done, and the best accuracy of each column."""
        count = {"all": len(self.params.cells), "done": len(self._done)}
        at = max((self._ended(key) for key in self._done), default=0.0)
        self.parent.step("cells", 0, count, at)
        best = {column: self._best(column) for column in self._all_columns()}
        values = {column: found[1] for column, found in best.items()}
        self.parent.step("best", 0, values, at)
        self.parent.tags({f"best.{column}": found[0] for column, found in best.items()})

    def _all_columns(self) -> list[str]:
        return list(dict.fromkeys(c for found in self._done.values() for c in _by_column(found)))

    def _best(self, column: str) -> tuple[str, float]:
        """The cell with the highest accuracy, the study's first of several, and that."""
        found = {
            key: scores[column].accuracy
            for key, stages in self._done.items()
            if column in (scores := _by_column(stages))
        }
        key = max(found, key=found.__getitem__)
        return key, found[key]

    def _ended(self, key: str) -> float:
        return Done(self.params, key, "evaluate", self.root).measured_at

    def _models(self) -> None:
        """Send the checkpoints of all cells."""
        first = next(iter(self.cells.values()))
        models = Models(first.client, first.experiment_id, self.params.study.name)
        for key in self.cells:
            for checkpoint in self._checkpoints(key):
                models.log(checkpoint)

    def _checkpoints(self, key: str) -> Iterator[LoggedCheckpoint]:
        """Yield the checkpoints that a cell has of its own."""
        cell, path = self.params.cell(key), self._runs / key / "train" / "checkpoints.json"
        if isinstance(cell, (ApiCell, AskedCell)) or not path.is_file():
            return
        manifest = Manifest.read_of(path, cell.model, f"train@{key}")
        tracker = self.cells[key]
        tags = {name: tracker.known[name] for name in _TAGS if name in tracker.known}
        for role, stored in manifest.checkpoints.items():
            yield LoggedCheckpoint(
                study=self.params.study.name,
                cell=key,
                role=role,
                digest=stored.digest,
                step=stored.step,
                run_id=tracker.run_id,
                tags=tags,
                measured=tuple(self._measured(key)) if role == manifest.use else (),
            )

    def _measured(self, key: str) -> Iterator[LoggedMetric]:
        """Yield the accuracies of a cell, just as its run has them."""
        for stage, tasks in self._done.get(key, {}).items():
            at = self._ended(key)
            for column, scores in tasks.items():
                name = f"{stage}/{column}/accuracy"
                yield LoggedMetric(name, scores.accuracy, 0, at, self._columns.get(column))

    def _report(self) -> None:
        """Send the report with the accuracies in it, if there is one."""
        from pipeline.analysis.packed import PARTS

        folder = self.root / "reports" / self.params.study.name
        if not (folder / "index.html").is_file():
            return
        figures = read_json(folder / "metrics.json")
        self.parent.step("accuracy", 0, figures, (folder / "metrics.json").stat().st_mtime)
        for path in sorted(folder.iterdir()):
            if path.name != PARTS:  # MLflow shows a page without the files beside it
                self.parent.artifact(path, path.name if path.is_dir() else None)


def _by_column(stages: Mapping[str, Mapping[str, TaskScores]]) -> dict[str, TaskScores]:
    return {column: scores for tasks in stages.values() for column, scores in tasks.items()}
