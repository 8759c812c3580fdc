"""MLflow: one run per cell, under one run per study.

Files are the truth; the tracker mirrors them. Setting it up fails loudly, a fault in mid-run is
said once and then ignored, and ``tomrl sync`` sends what was missed. Every metric carries the time
stamp that the files keep, so sending it twice stores it once.

A run is RUNNING while a stage of its cell is, and ends FINISHED, FAILED or KILLED with it. It lasts
as long as its stages worked, whatever lay between them.
"""

from __future__ import annotations

import errno
import logging
import os
import platform
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from getpass import getuser
from pathlib import Path
from subprocess import run as run_command
from typing import TYPE_CHECKING

import psutil

from pipeline.config.params import Cell, Params
from pipeline.disk import trouble
from pipeline.errors import UserError
from pipeline.files import digest_of, file_digest, write_json
from pipeline.foreign import visible
from pipeline.home import home_of
from pipeline.provenance import MODEL, installed
from pipeline.tracking_database import ensure, is_whole, unusable

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

URI_VARIABLE = "MLFLOW_TRACKING_URI"
EXPERIMENT = "tomrl"
_BATCH = 900  # MLflow takes at most 1000 metrics at once
log = logging.getLogger(__name__)

Row = Mapping[str, object]
"""One row of ``metrics.jsonl`` or ``timing.jsonl``."""


def tracking_uri(root: Path) -> str:
    """Return the tracking address: ``MLFLOW_TRACKING_URI``, else a database in the home checkout.

    Worktrees and experiments share that of the checkout they belong to.
    """
    return os.environ.get(URI_VARIABLE) or f"sqlite:///{home_of(root) / 'mlflow.db'}"


def prepare(root: Path) -> MlflowClient:
    """Return a client; creates the database and the experiment where they do not exist.

    Raises:
        UserError: If the tracking address does not answer, or its database cannot be used.
    """
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    warnings.filterwarnings("ignore", module="mlflow")
    from mlflow import MlflowClient

    for name in ("mlflow", "alembic"):  # the import sets levels of its own
        logging.getLogger(name).setLevel(logging.CRITICAL)  # every error is raised, too
    uri = tracking_uri(root)
    with _answering(uri):
        if database := _database(uri):
            ensure(database, EXPERIMENT, (home_of(root) / "mlartifacts").as_uri())
        client = MlflowClient(tracking_uri=uri)
        if client.get_experiment_by_name(EXPERIMENT) is None:
            client.create_experiment(EXPERIMENT)
    return client


@contextmanager
def _answering(uri: str) -> Iterator[None]:
    """Say in one sentence why a tracking address is of no use.

    Raises:
        UserError: If it does not answer, or its database cannot be used.
        OSError: If there is no room for its database, or no right to write it.
    """
    database = _database(uri)
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        if trouble(error):
            raise
        if database and database.parent.is_dir() and not os.access(database.parent, os.W_OK):
            raise PermissionError(errno.EACCES, "may not be written to", str(database)) from error
        if database and database.exists() and not is_whole(database):
            raise unusable(database) from error
        raise UserError(
            f"MLflow at {uri} does not answer ({type(error).__name__}: {_first_line(error)}); set "
            f"{URI_VARIABLE} to a working address, or unset it to use mlflow.db in this folder"
        ) from error


def _database(uri: str) -> Path | None:
    """Return the file of an SQLite database, or None for any other address."""
    path = uri.removeprefix("sqlite:///")
    return Path(path) if path not in (uri, "", ":memory:") else None


def cell_digest(params: Params, key: str) -> str:
    """Return the digest of every parameter that a cell's results depend on."""
    cell = params.cell(key)
    data = params.dataset[cell.combination].model_dump(mode="json") if cell.combination else None
    return digest_of(
        [
            cell.model_dump(mode="json"),
            params.base[cell.model].model_dump(mode="json"),
            data,
            params.suite.model_dump(mode="json"),
        ]
    )[:16]


class Tracker:
    """One MLflow run; every fault after set-up is said once and then ignored."""

    def __init__(self, client: MlflowClient, run: Run) -> None:
        self.client, self.run_id = client, str(run.info.run_id)
        self.experiment_id = str(run.info.experiment_id)
        self.known = dict(run.data.tags)
        self._started = int(run.info.start_time)
        self._points = _Points(client, run)
        self.silent = False

    def ids(self) -> dict[str, str]:
        """Return what leads from the files to the run."""
        return {"experiment_id": self.experiment_id, "run_id": self.run_id}

    def _try(self, action: Callable[..., object], *args: object, **kwargs: object) -> None:
        if self.silent:
            return
        try:
            action(self.run_id, *args, **kwargs)
        except Exception as error:
            self.silent = True
            log.warning(
                "MLflow does not answer (%s): going on without it; the files hold everything, send "
                "them later with: tomrl sync",
                _first_line(error),
            )

    def params(self, values: Mapping[str, object]) -> None:
        """Store parameters, flattened with dots."""
        from mlflow.entities import Param

        flat = [Param(k, visible(str(v))[:6000]) for k, v in flatten(values)]
        self._try(self.client.log_batch, params=flat)

    def tags(self, values: Mapping[str, object]) -> None:
        """Store tags."""
        from mlflow.entities import RunTag

        self.known |= {name: str(value) for name, value in values.items()}
        self._try(
            self.client.log_batch, tags=[RunTag(k, visible(str(v))) for k, v in values.items()]
        )

    def step(
        self, stage: str, step: int, values: Row, at: float, timing: Row | None = None
    ) -> None:
        """Store the metrics of one step, named ``stage/metric``, unless the run has them.

        A stage that was killed repeats the steps since its last checkpoint, and what was sent live
        is sent again with the files.

        Args:
            stage: Its name.
            step: Number of the step.
            values: What it measured.
            at: When, in seconds since the epoch.
            timing: What differs whenever the step is repeated; stored only together with values.
        """
        found = _numbers(stage, values)
        if found and all(self._points.have(name, step, value) for name, value in found.items()):
            return
        found |= _numbers(stage, timing or {})
        from mlflow.entities import Metric

        stamp = int(at * 1000)
        metrics = [Metric(name, value, stamp, step) for name, value in found.items()]
        for start in range(0, len(metrics), _BATCH):
            self._try(self.client.log_batch, metrics=metrics[start : start + _BATCH])

    def dataset(self, context: str, path: Path) -> None:
        """Record a dataset file as an input of the run, by name and digest."""
        from mlflow.entities import Dataset, DatasetInput, InputTag

        entry = Dataset(
            name=f"{path.parent.name}/{path.stem}",
            digest=file_digest(path)[:32],
            source_type="local",
            source=path.as_posix(),
        )
        tags = [InputTag("mlflow.data.context", context)]
        self._try(self.client.log_inputs, datasets=[DatasetInput(entry, tags)])

    def artifact(self, path: Path) -> None:
        """Store a file or folder as an artifact."""
        action = self.client.log_artifacts if path.is_dir() else self.client.log_artifact
        self._try(action, str(path))

    def begin(self) -> None:
        """Mark the run as under way."""
        self._try(self.client.update_run, status="RUNNING")

    def end(self, status: str, work: str, seconds: float) -> None:
        """Mark the run as ended.

        Args:
            status: ``FINISHED``, ``FAILED`` or ``KILLED``.
            work: What took the time, such as a stage; doing it again replaces its time.
            seconds: How long it took.
        """
        self.tags({f"seconds.{work}": f"{seconds:.1f}"})
        worked = sum(float(v) for k, v in self.known.items() if k.startswith("seconds."))
        end = self._started + int(1000 * worked)
        self._try(self.client.set_terminated, status=status, end_time=end)


class _Points:
    """The points that a run had when it was looked up; read when they are asked for."""

    def __init__(self, client: MlflowClient, run: Run) -> None:
        self._client, self._run_id = client, str(run.info.run_id)
        self._names = frozenset(run.data.metrics)
        self._read: dict[str, dict[int, float]] = {}

    def have(self, name: str, step: int, value: float) -> bool:
        """Return whether the newest point of a metric at a step has this value."""
        if name not in self._names:
            return False
        if name not in self._read:
            self._read[name] = self._history(name)
        return self._read[name].get(step) == value

    def _history(self, name: str) -> dict[int, float]:
        try:
            points = self._client.get_metric_history(self._run_id, name)
        except Exception as error:  # an outage, of which the next point to be stored tells
            log.debug("no history of %s: %s", name, _first_line(error))
            return {}
        return {p.step: p.value for p in sorted(points, key=lambda point: int(point.timestamp))}


def _numbers(stage: str, values: Row) -> dict[str, float]:
    return {
        f"{stage}/{name}": float(value)
        for name, value in flatten(values)
        if isinstance(value, (int, float)) and name not in ("step", "at")
    }


@contextmanager
def cell_run(params: Params, key: str, root: Path, stage: str) -> Iterator[Tracker]:
    """Give the run of a cell while one of its stages works, and end it as the stage ends.

    It is found by (study, cell, digest of the parameters) or created; of the runs of one cell the
    newest has the tag ``current``. What leads to it is written to ``logs/STUDY/CELL``.
    """
    client, circumstances = prepare(root), _circumstances(root)
    with _answering(tracking_uri(root)):
        parent = study_tracker(client, params)
        tracker = cell_tracker(client, params, key, parent)
    write_json(root / "logs" / params.study.name / key / "tracking.json", tracker.ids())
    with (
        _ending(parent, f"{key}.{stage}", circumstances),
        _ending(tracker, stage, circumstances),
    ):
        yield tracker


@contextmanager
def study_run(params: Params, root: Path) -> Iterator[Tracker]:
    """Give the run of the whole study while its report is made, and end it with that."""
    client, circumstances = prepare(root), _circumstances(root)
    with _answering(tracking_uri(root)):
        tracker = study_tracker(client, params)
    with _ending(tracker, "report", circumstances):
        yield tracker


@contextmanager
def _ending(tracker: Tracker, work: str, circumstances: Mapping[str, str]) -> Iterator[None]:
    """Note in which circumstances work begins, and end its run as the block ends: well, by an
    error, or by being stopped.
    """
    started, status = time.monotonic(), "FAILED"
    tracker.begin()
    tracker.tags(circumstances)
    try:
        yield
        status = "FINISHED"
    except KeyboardInterrupt:
        status = "KILLED"
        raise
    except Exception as error:
        tracker.tags({"failure": _first_line(error)})
        raise
    finally:
        tracker.end(status, work, time.monotonic() - started)


def study_tracker(client: MlflowClient, params: Params) -> Tracker:
    """Return the run of the study: one, whatever was edited meanwhile."""
    info = params.study
    identity = {"study": info.name, "level": "study"}
    extra = {"mlflow.note.content": info.title}
    return _find_or_create(client, f"study {info.name}", identity, extra)


def cell_tracker(client: MlflowClient, params: Params, key: str, parent: Tracker) -> Tracker:
    """Return the run of a cell with its present parameters, which becomes the cell's current one.

    Args:
        client: Of the tracking address.
        params: The study.
        key: The cell.
        parent: The study's run.
    """
    cell, digest = params.cell(key), cell_digest(params, key)
    identity = {"study": params.study.name, "cell": key, "digest": digest, "level": "cell"}
    extra = {"mlflow.parentRunId": parent.run_id, **_plain_tags(cell)}
    tracker = _find_or_create(client, key, identity, extra)
    if tracker.known.get("current") != "true":
        for other in _search(client, {**identity, "current": "true"}, without="digest"):
            Tracker(client, other).tags({"current": "false"})
        tracker.tags({"current": "true"})
        tracker.params(cell.model_dump(mode="json"))
    return tracker


def _plain_tags(cell: Cell) -> dict[str, str]:
    """Return the flat tags that people filter on."""
    return {
        "model": cell.model,
        "combination": cell.combination or "none",
        "algorithm": cell.algorithm.name if cell.algorithm else "none",
        "seed": str(cell.seed),
        "kind": cell.kind,
        "backend": cell.train.backend,
    }


def _circumstances(root: Path) -> dict[str, str]:
    """Return who runs what on which machine."""
    tags = {
        "mlflow.user": _user(),
        "mlflow.source.name": "dvc.yaml",
        "mlflow.source.type": "PROJECT",
        "hardware.cores": str(len(os.sched_getaffinity(0))),
        "hardware.memory_gb": f"{psutil.virtual_memory().total / 1e9:.0f}",
        "hardware.processor": platform.processor() or platform.machine(),
        "version.python": platform.python_version(),
        **{f"version.{name}": number for name, number in installed(*MODEL, "verl").items()},
    }
    commit = _git(root, "rev-parse", "HEAD")
    if commit:
        edited = bool(_git(root, "status", "--porcelain", "--untracked-files=no"))
        tags |= {"mlflow.source.git.commit": commit, "git.edited": str(edited).lower()}
    return tags


def _user() -> str:
    try:
        return getuser()
    except (KeyError, OSError):  # a container without a name for its user
        return str(os.getuid())


def _git(root: Path, *arguments: str) -> str:
    try:
        found = run_command(
            ["git", *arguments], cwd=root, capture_output=True, text=True, timeout=10, check=False
        )
    except OSError:
        return ""
    return found.stdout.strip() if found.returncode == 0 else ""


def _find_or_create(
    client: MlflowClient, name: str, identity: Mapping[str, str], extra: Mapping[str, str]
) -> Tracker:
    found = _search(client, identity)
    if found:
        return Tracker(client, found[0])
    experiment = client.get_experiment_by_name(EXPERIMENT).experiment_id
    return Tracker(client, client.create_run(experiment, run_name=name, tags={**identity, **extra}))


def _search(client: MlflowClient, tags: Mapping[str, str], without: str = "") -> list[Run]:
    experiment = client.get_experiment_by_name(EXPERIMENT).experiment_id
    query = " and ".join(f"tags.{k} = '{v}'" for k, v in tags.items() if k != without)
    return list(client.search_runs([experiment], filter_string=query, max_results=100))


def flatten(values: Mapping[str, object], prefix: str = "") -> Iterable[tuple[str, object]]:
    """Yield (dotted name, value) of nested mappings; None is left out."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{name}.")
        elif value is not None:
            yield f"{prefix}{name}", value


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
