"""The runs of a study in MLflow: one per cell, under one per study and commit.

A run is RUNNING while a stage of its cell is, and ends FINISHED, FAILED or KILLED with it. It lasts
as long as its stages worked, whatever lay between them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.base.errors import first_line
from pipeline.config.params import Cell, Params, TrainedCell
from pipeline.formats.files import digest_of
from pipeline.ops.mirror.run import Tracker
from pipeline.ops.mirror.server import EXPERIMENT, answering, prepare, tracking_uri
from pipeline.stages.followed import COMMIT, Ended, circumstances

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

_PARENT = "mlflow.parentRunId"


def _start(cell: Cell) -> str | None:
    return cell.starts_from if isinstance(cell, TrainedCell) else None


def cell_digest(params: Params, key: str) -> str:
    """The digest of every parameter that a cell's results depend on."""
    cell = params.cell(key)
    first = _start(cell)
    data = params.dataset[cell.combination].model_dump(mode="json") if cell.combination else None
    return digest_of(
        [
            cell.model_dump(mode="json"),
            params.base[cell.model].model_dump(mode="json"),
            data,
            params.suite.model_dump(mode="json"),
            *([] if first is None else [cell_digest(params, first)]),
        ]
    )[:16]


@dataclass(frozen=True)
class CellRun:
    """The run of a cell in which one of its stages works, and that of the study around it."""

    cell: Tracker
    study: Tracker
    key: str
    stage: str

    def begin(self, circumstances: Mapping[str, str]) -> None:
        """Mark both as under way."""
        for tracker in (self.study, self.cell):
            tracker.begin()
            tracker.tags(circumstances)

    def end(self, ended: Ended) -> None:
        """Mark both as ended, as :meth:`Tracker.end` does; say in both why the stage failed."""
        if ended.cause:
            for tracker in (self.study, self.cell):
                tracker.tags({"failure": ended.cause})
        self.cell.end(ended.status, self.stage, ended.seconds)
        self.study.end(ended.status, f"{self.key}.{self.stage}", ended.seconds)

    def knows(self, ended: Ended) -> bool:
        """Whether the run of the cell was told that the stage took so long."""
        return self.cell.known.get(f"seconds.{self.stage}") == f"{ended.seconds:.1f}"


def cell_run(
    params: Params, key: str, root: Path, stage: str, began: float, told: Mapping[str, str]
) -> CellRun:
    """The run of a cell, found by (study, cell, digest of the parameters) or created.

    Of the runs of one cell the newest has the tag ``current``.

    Args:
        params: The study.
        key: The cell.
        root: The checkout.
        stage: What works in it.
        began: When that began, in seconds since the epoch.
        told: Who runs it where: see :func:`pipeline.stages.followed.circumstances`.

    Raises:
        UserError: If MLflow does not answer.
    """
    client = prepare(root)
    with answering(tracking_uri(root)):
        parent = study_tracker(client, params, told.get(COMMIT, ""), began)
        tracker = cell_tracker(client, params, key, parent, began)
    return CellRun(tracker, parent, key, stage)


@contextmanager
def study_run(params: Params, root: Path) -> Iterator[Tracker]:
    """Give the run of the whole study while its report is made, and end it as that ends: well, by
    an error, or by being stopped.
    """
    client, told = prepare(root), circumstances(root)
    with answering(tracking_uri(root)):
        tracker = study_tracker(client, params, told.get(COMMIT, ""))
    started, status = time.monotonic(), "FAILED"
    tracker.begin()
    tracker.tags(told)
    try:
        yield tracker
        status = "FINISHED"
    except KeyboardInterrupt:
        status = "KILLED"
        raise
    except Exception as error:
        tracker.tags({"failure": first_line(error)})
        raise
    finally:
        tracker.end(status, "report", time.monotonic() - started)


def study_tracker(
    client: MlflowClient, params: Params, commit: str, began: float | None = None
) -> Tracker:
    """The run of the study at a commit, which becomes the study's current one.

    Args:
        client: Of the tracking address.
        params: The study.
        commit: The commit that is checked out; empty outside of git.
        began: When a run that is new began, in seconds since the epoch; now if absent.
    """
    info = params.study
    identity = {"study": info.name, "level": "study", "commit": commit or "none"}
    extra = {"mlflow.note.content": info.title, **({COMMIT: commit} if commit else {})}
    name = f"study {info.name} @ {commit[:7]}" if commit else f"study {info.name}"
    tracker = _find_or_create(client, name, identity, extra, began)
    _make_current(tracker, identity, but_for="commit")
    return tracker


def current_study(client: MlflowClient, params: Params) -> Tracker | None:
    """The run of the study in which there was work last."""
    identity = {"study": params.study.name, "level": "study", "current": "true"}
    found = _search(client, identity)
    return Tracker(client, found[0]) if found else None


def cell_tracker(
    client: MlflowClient, params: Params, key: str, parent: Tracker, began: float | None = None
) -> Tracker:
    """The run of a cell with its present parameters, which becomes the cell's current one.

    Args:
        client: Of the tracking address.
        params: The study.
        key: The cell.
        parent: The study's run, under which it comes to stand if it stood under another.
        began: When a run that is new began, in seconds since the epoch; now if absent.
    """
    cell, digest = params.cell(key), cell_digest(params, key)
    identity = {"study": params.study.name, "cell": key, "digest": digest, "level": "cell"}
    extra = {_PARENT: parent.run_id, **_plain_tags(cell)}
    tracker = _find_or_create(client, key, identity, extra, began)
    if tracker.known.get(_PARENT) != parent.run_id:
        tracker.tags({_PARENT: parent.run_id})
    if _make_current(tracker, identity, but_for="digest"):
        tracker.params(cell.model_dump(mode="json"))
    return tracker


def _make_current(tracker: Tracker, identity: Mapping[str, str], but_for: str) -> bool:
    """Make a run the current one of those that have its identity but for one tag.

    Returns:
        Whether it was not.
    """
    if tracker.known.get("current") == "true":
        return False
    for other in _search(tracker.client, {**identity, "current": "true"}, without=but_for):
        Tracker(tracker.client, other).tags({"current": "false"})
    tracker.tags({"current": "true"})
    return True


def _plain_tags(cell: Cell) -> dict[str, str]:
    """The flat tags that people filter on."""
    first = _start(cell)
    return {
        **({} if first is None else {"starts_from": first}),
        "model": cell.model,
        "combination": cell.combination or "none",
        "algorithm": cell.algorithm.name if cell.algorithm else "none",
        "seed": str(cell.seed),
        "kind": cell.kind,
        "backend": cell.train.backend,
    }


def _find_or_create(
    client: MlflowClient,
    name: str,
    identity: Mapping[str, str],
    extra: Mapping[str, str],
    began: float | None,
) -> Tracker:
    found = _search(client, identity)
    if found:
        return Tracker(client, found[0])
    experiment = client.get_experiment_by_name(EXPERIMENT).experiment_id
    start = None if began is None else int(1000 * began)
    tags = {**identity, **extra}
    return Tracker(client, client.create_run(experiment, start, tags, run_name=name))


def _search(client: MlflowClient, tags: Mapping[str, str], without: str = "") -> list[Run]:
    experiment = client.get_experiment_by_name(EXPERIMENT).experiment_id
    parts = [f"tags.{k} = '{v}'" for k, v in tags.items() if k != without]
    return list(client.search_runs([experiment], " and ".join(parts), max_results=100))
