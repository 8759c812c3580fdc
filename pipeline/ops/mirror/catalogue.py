"""What MLflow has of a study beside figures by step: one process sends it, when cells are done.

For each cell the datasets, its configuration and its checkpoints as logged models; for the study
the report. All of it is read from files, and what MLflow has already is not sent again. The weights
stay in ``weights/STUDY/CELL/DIGEST``; MLflow has what leads to them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.base.errors import UserError
from pipeline.config.params import ApiCell, AskedCell, Params
from pipeline.formats.files import digest_of, file_digest, read_json
from pipeline.model.manifest import Manifest
from pipeline.ops.mirror.run import Tracker

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import LoggedModel

log = logging.getLogger(__name__)

_FILES = (
    *("train/config.json", "train/checkpoints.json"),
    *("evaluate/metrics.json", "judge/verdicts.json"),
)
_TAGS = ("model", "combination", "algorithm", "seed", "kind", "backend", "starts_from")
_IDENTITY = ("study", "cell", "role", "digest")
_PAGE = 50  # as many logged models as MLflow gives at a time


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
            self._models()
            if again:
                send_report(self.parent, self.root, self.params.study.name)
        except UserError:
            raise
        except Exception as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
            log.warning("MLflow lacks models or files (%s); send them with: tomrl sync", reason)

    @property
    def _runs(self) -> Path:
        return self.root / "runs" / self.params.study.name

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

    def _models(self) -> None:
        """Send the checkpoints that cells have of their own."""
        client, study = self.parent.client, self.params.study.name
        models = _logged_models(client, self.parent.experiment_id, study)
        known = {_identity(model.tags): model for model in models}
        for key, tracker in self.cells.items():
            cell, path = self.params.cell(key), self._runs / key / "train" / "checkpoints.json"
            if isinstance(cell, (ApiCell, AskedCell)) or not path.is_file():
                continue
            manifest = Manifest.read_of(path, cell.model, f"train@{key}")
            filters = {name: tracker.known[name] for name in _TAGS if name in tracker.known}
            for role, stored in manifest.checkpoints.items():
                own = {"study": study, "cell": key, "role": role, "digest": stored.digest}
                model = known.get(_identity(own))
                _log_checkpoint(tracker, model, filters | own, stored.step)


def send_report(tracker: Tracker, root: Path, study: str) -> None:
    """Send a report to the run of its study, with the accuracies in it, if there is one."""
    from pipeline.analysis.packed import PARTS

    figures, folder = root / "results" / study / "metrics.json", root / "reports" / study
    if not figures.is_file():
        return
    tracker.step("accuracy", 0, read_json(figures), figures.stat().st_mtime)
    for path in sorted(folder.iterdir()):
        if path.name != PARTS:  # MLflow shows a page without the files beside it
            tracker.artifact(path, path.name if path.is_dir() else None)


def _identity(tags: Mapping[str, str]) -> tuple[str, ...]:
    """What tells one checkpoint from all others."""
    return tuple(tags.get(name, "") for name in _IDENTITY)


def _logged_models(client: MlflowClient, experiment: str, study: str) -> Iterator[LoggedModel]:
    """Yield the logged models of a study."""
    token = None
    while True:
        page = client.search_logged_models(
            [experiment], f"tags.study = '{study}'", None, _PAGE, page_token=token
        )
        yield from page
        if not (token := page.token):
            return


def _log_checkpoint(
    tracker: Tracker, found: LoggedModel | None, tags: Mapping[str, str], step: int
) -> None:
    """Have a checkpoint of a cell's run as a logged model.

    Args:
        tracker: The run.
        found: The model, if MLflow has it.
        tags: Its identity, and what people filter on.
        step: The training step that the weights come from.
    """
    from mlflow.entities import LoggedModelOutput, LoggedModelStatus

    client = tracker.client
    if found is None:
        found = client.create_logged_model(
            tracker.experiment_id,
            name=f"{tags['cell']}-{tags['role']}",
            source_run_id=tracker.run_id,
            tags=dict(tags),
            params={"step": str(step)},
        )
    if found.status == LoggedModelStatus.READY:
        return
    model_id = str(found.model_id)  # just made, or left by a process that died
    run = client.get_run(tracker.run_id)
    if all(output.model_id != model_id for output in run.outputs.model_outputs):
        client.log_outputs(tracker.run_id, [LoggedModelOutput(model_id, step)])
    client.finalize_logged_model(model_id, LoggedModelStatus.READY)
