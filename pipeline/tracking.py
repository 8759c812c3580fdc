"""MLflow: one run per cell, under one run per study.

Files are the truth; the tracker mirrors them. Setting it up fails loudly, a fault in mid-run is
said once and then ignored, and ``tomrl sync`` sends what was missed. Every metric carries the time
stamp that the files keep, so sending it twice stores it once.
"""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pipeline.config.params import Cell, Params
from pipeline.errors import UserError
from pipeline.files import digest_of, file_digest, read_json, read_lines

URI_VARIABLE = "MLFLOW_TRACKING_URI"
EXPERIMENT = "tomrl"
_BATCH = 900  # MLflow takes at most 1000 metrics at once
log = logging.getLogger(__name__)


def tracking_uri(root: Path) -> str:
    """Return the tracking address: ``MLFLOW_TRACKING_URI``, else a database in the checkout."""
    return os.environ.get(URI_VARIABLE) or f"sqlite:///{(root / 'mlflow.db').resolve()}"


def prepare(root: Path) -> Any:
    """Return a client; creates the database and the experiment where they do not exist.

    Do this once before stages run side by side: two processes that first touch a fresh SQLite
    database race in its migrations.

    Raises:
        UserError: If the tracking address does not answer.
    """
    uri = tracking_uri(root)
    for name in ("mlflow", "alembic"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="mlflow")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
    from mlflow import MlflowClient

    try:
        client = MlflowClient(tracking_uri=uri)
        if client.get_experiment_by_name(EXPERIMENT) is None:
            local = uri.startswith("sqlite:")
            artifacts = (root / "mlartifacts").resolve().as_uri() if local else None
            client.create_experiment(EXPERIMENT, artifact_location=artifacts)
    except Exception as error:
        raise UserError(
            f"MLflow at {uri} does not answer ({type(error).__name__}: {_first_line(error)}); set "
            f"{URI_VARIABLE} to a working address, or unset it to use mlflow.db in this folder"
        ) from error
    return client


def study_digest(params: Params) -> str:
    """Return the digest that tells one version of a study from another."""
    return digest_of(params.model_dump(mode="json"))[:16]


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
            {name: source.model_dump(mode="json") for name, source in params.acquire.items()},
        ]
    )[:16]


class Tracker:
    """One MLflow run; every fault after set-up is said once and then ignored."""

    def __init__(self, client: Any, run_id: str, experiment_id: str) -> None:
        self.client, self.run_id, self.experiment_id = client, run_id, experiment_id
        self.silent = False

    def ids(self) -> dict[str, str]:
        """Return what leads from the files to the run."""
        return {"experiment_id": self.experiment_id, "run_id": self.run_id}

    def _try(self, action: Any, *args: Any, **kwargs: Any) -> None:
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

    def params(self, values: Mapping[str, Any]) -> None:
        """Store parameters, flattened with dots."""
        from mlflow.entities import Param

        flat = [Param(k, str(v)[:6000]) for k, v in flatten(values)]
        self._try(self.client.log_batch, params=flat)

    def tags(self, values: Mapping[str, Any]) -> None:
        """Store tags."""
        from mlflow.entities import RunTag

        self._try(self.client.log_batch, tags=[RunTag(k, str(v)) for k, v in values.items()])

    def step(self, stage: str, step: int, values: Mapping[str, Any], at: float) -> None:
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

    def replay(
        self, stage: str, metrics: Iterable[Mapping[str, Any]], timing: Iterable[Mapping[str, Any]]
    ) -> None:
        """Store the metrics of all steps again; those already there are not stored twice."""
        stamps = {row["step"]: row for row in timing}
        for row in metrics:
            times = stamps.get(row["step"], {})
            self.step(stage, row["step"], {**row, **times}, times.get("at", 0.0))

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

    def finish(self, status: str = "FINISHED") -> None:
        """Mark the run as ended."""
        self._try(self.client.set_terminated, status=status)


def study_tracker(params: Params, root: Path) -> Tracker:
    """Return the run of the whole study, found by its tags or created."""
    info = params.study
    tags = {"study": info.name, "digest": study_digest(params), "level": "study"}
    return _find_or_create(prepare(root), f"study {info.name}", tags)


def cell_tracker(params: Params, key: str, root: Path) -> Tracker:
    """Return the run of one cell, found by (study, cell, digest) or created with its parameters."""
    parent = study_tracker(params, root)
    cell = params.cell(key)
    tags = {
        "study": params.study.name,
        "cell": key,
        "digest": cell_digest(params, key),
        "level": "cell",
    }
    extra = {"mlflow.parentRunId": parent.run_id, **_plain_tags(cell)}
    tracker = _find_or_create(parent.client, key, tags, extra)
    tracker.params(cell.model_dump(mode="json"))
    return tracker


def _plain_tags(cell: Cell) -> dict[str, str]:
    """Return the flat tags that people filter on."""
    return {
        "model": cell.model,
        "combination": cell.combination or "none",
        "algorithm": cell.algorithm or "none",
        "seed": str(cell.seed),
        "kind": cell.kind,
        "backend": cell.train.backend if cell.train else "none",
    }


def _find_or_create(
    client: Any, name: str, tags: Mapping[str, str], extra: Mapping[str, str] | None = None
) -> Tracker:
    experiment = client.get_experiment_by_name(EXPERIMENT).experiment_id
    query = " and ".join(f"tags.{key} = '{value}'" for key, value in tags.items())
    found = client.search_runs([experiment], filter_string=query, max_results=1)
    run = (
        found[0]
        if found
        else client.create_run(experiment, run_name=name, tags={**tags, **(extra or {})})
    )
    return Tracker(client, run.info.run_id, experiment)


def sync(params: Params, root: Path) -> list[str]:
    """Send the files of every finished stage to MLflow again; return the cells that were sent."""
    runs, logs = root / "runs" / params.study.name, root / "logs" / params.study.name
    prepare(root)
    sent = []
    for key in params.cells:
        stages = [s for s in ("train", "evaluate", "gsm8k") if (runs / key / s).is_dir()]
        if not stages:
            continue
        tracker = cell_tracker(params, key, root)
        for stage in stages:
            timing = read_lines(logs / key / stage / "timing.jsonl")
            if stage == "train":
                tracker.replay(stage, read_lines(runs / key / stage / "metrics.jsonl"), timing)
            else:
                scores(tracker, stage, read_json(runs / key / stage / "metrics.json"), timing)
        tracker.finish()
        sent.append(key)
    return sent


def scores(
    tracker: Tracker, stage: str, metrics: Mapping[str, Any], timing: list[dict[str, Any]]
) -> None:
    """Store the accuracies of an evaluation under ``stage/task/accuracy``."""
    values = {
        f"{task}/{name}": entry[name]
        for task, entry in metrics["tasks"].items()
        for name in ("accuracy", "strict_accuracy", "format_rate", "length_mean")
    }
    tracker.step(stage, 0, values, timing[-1]["at"] if timing else 0.0)


def flatten(values: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    """Yield (dotted name, value) of nested mappings; None is left out."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{prefix}{name}.")
        elif value is not None:
            yield f"{prefix}{name}", value


def now() -> float:
    """Return the present time in seconds, as kept in ``timing.jsonl``."""
    return time.time()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
