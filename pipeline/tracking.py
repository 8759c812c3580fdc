"""MLflow: one run per cell, under one run per study.

Files are the truth; the tracker mirrors them. Setting it up fails loudly, a fault in mid-run is
said once and then ignored, and ``tomrl sync`` sends what was missed. Every metric carries the time
stamp that the files keep, so sending it twice stores it once.

A run is RUNNING while a stage of its cell is, and ends FINISHED, FAILED or KILLED with it. It lasts
as long as its stages worked, whatever lay between them.
"""

from __future__ import annotations

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
from pipeline.errors import UserError
from pipeline.files import digest_of, file_digest, write_json
from pipeline.home import home_of
from pipeline.provenance import MODEL, installed

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

    Do this once before stages run side by side: two processes that first touch a fresh SQLite
    database race in its migrations.

    Raises:
        UserError: If the tracking address does not answer.
    """
    uri = tracking_uri(root)
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    warnings.filterwarnings("ignore", module="mlflow")
    from mlflow import MlflowClient

    for name in ("mlflow", "alembic"):  # the import sets levels of its own
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        client = MlflowClient(tracking_uri=uri)
        if client.get_experiment_by_name(EXPERIMENT) is None:
            local = uri.startswith("sqlite:")
            artifacts = (home_of(root) / "mlartifacts").as_uri() if local else None
            client.create_experiment(EXPERIMENT, artifact_location=artifacts)
    except Exception as error:
        raise UserError(
            f"MLflow at {uri} does not answer ({type(error).__name__}: {_first_line(error)}); set "
            f"{URI_VARIABLE} to a working address, or unset it to use mlflow.db in this folder"
        ) from error
    return client


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

        flat = [Param(k, str(v)[:6000]) for k, v in flatten(values)]
        self._try(self.client.log_batch, params=flat)

    def tags(self, values: Mapping[str, object]) -> None:
        """Store tags."""
        from mlflow.entities import RunTag

        self.known |= {name: str(value) for name, value in values.items()}
        self._try(self.client.log_batch, tags=[RunTag(k, str(v)) for k, v in values.items()])

    def step(self, stage: str, step: int, values: Row, at: float) -> None:
        """Store the metrics of one step, named ``stage/metric``."""
        from mlflow.entities import Metric

        stamp = int(at * 1000)
        metrics = [
            Metric(f"{stage}/{name}", float(value), stamp, step)
            for name, value in flatten(values)
            if isinstance(value, (int, float)) and name not in ("step", "at")
        ]
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


@contextmanager
def cell_run(params: Params, key: str, root: Path, stage: str) -> Iterator[Tracker]:
    """Give the run of a cell while one of its stages works, and end it as the stage ends.

    It is found by (study, cell, digest of the parameters) or created; of the runs of one cell the
    newest has the tag ``current``. What leads to it is written to ``logs/STUDY/CELL``.
    """
    client = prepare(root)
    parent = _study_tracker(client, params, root)
    tracker = _cell_tracker(client, params, key, parent, root)
    write_json(root / "logs" / params.study.name / key / "tracking.json", tracker.ids())
    with _ending(parent, f"{key}.{stage}"), _ending(tracker, stage):
        yield tracker


@contextmanager
def study_run(params: Params, root: Path) -> Iterator[Tracker]:
    """Give the run of the whole study while its report is made, and end it with that."""
    with _ending(_study_tracker(prepare(root), params, root), "report") as tracker:
        yield tracker


@contextmanager
def open_cell(params: Params, key: str, root: Path) -> Iterator[Tracker]:
    """Give the run of a cell as it is, to send what it lacks."""
    client = prepare(root)
    yield _cell_tracker(client, params, key, _study_tracker(client, params, root), root)


@contextmanager
def _ending(tracker: Tracker, work: str) -> Iterator[Tracker]:
    """End a run as the block ends: well, by an error, or by being stopped."""
    started, status = time.monotonic(), "FAILED"
    tracker.begin()
    try:
        yield tracker
        status = "FINISHED"
    except KeyboardInterrupt:
        status = "KILLED"
        raise
    except Exception as error:
        tracker.tags({"failure": _first_line(error)})
        raise
    finally:
        tracker.end(status, work, time.monotonic() - started)


def _study_tracker(client: MlflowClient, params: Params, root: Path) -> Tracker:
    """Return the run of the study: one, whatever was edited meanwhile."""
    info = params.study
    identity = {"study": info.name, "level": "study"}
    extra = {"mlflow.note.content": info.title}
    tracker = _find_or_create(client, f"study {info.name}", identity, extra)
    tracker.tags(_circumstances(root))
    return tracker


def _cell_tracker(
    client: MlflowClient, params: Params, key: str, parent: Tracker, root: Path
) -> Tracker:
    cell, digest = params.cell(key), cell_digest(params, key)
    identity = {"study": params.study.name, "cell": key, "digest": digest, "level": "cell"}
    extra = {"mlflow.parentRunId": parent.run_id, **_plain_tags(cell)}
    tracker = _find_or_create(client, key, identity, extra)
    if tracker.known.get("current") != "true":
        for other in _search(client, {**identity, "current": "true"}, without="digest"):
            Tracker(client, other).tags({"current": "false"})
        tracker.tags({"current": "true"})
        tracker.params(cell.model_dump(mode="json"))
    tracker.tags(_circumstances(root))
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
