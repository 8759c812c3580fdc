"""One run of MLflow: what is stored in it, and once only.

Files are the truth; the tracker mirrors them. A fault in mid-run is said once and then ignored, and
``tomrl sync`` sends what was missed. Every metric carries the time stamp that the files keep, so
sending it twice stores it once.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.base.errors import first_line
from pipeline.formats.files import file_digest
from pipeline.formats.foreign import visible
from pipeline.formats.nested import flatten

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

_BATCH = 900  # MLflow takes at most 1000 metrics at once
log = logging.getLogger(__name__)

Row = Mapping[str, object]
"""One row of ``metrics.jsonl`` or ``timing.jsonl``."""


class Tracker:
    """One MLflow run; every fault after set-up is said once and then ignored."""

    def __init__(self, client: MlflowClient, run: Run) -> None:
        self.client, self.run_id = client, str(run.info.run_id)
        self.experiment_id = str(run.info.experiment_id)
        self.known = dict(run.data.tags)
        self._started = int(run.info.start_time)
        self.started = self._started / 1000
        self._points = _Points(client, run)
        self.silent = False

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
                first_line(error),
            )

    def params(self, values: Mapping[str, object]) -> None:
        """Store parameters, flattened with dots."""
        from mlflow.entities import Param

        # MLflow refuses other signs in a name, such as the plus of verl's overrides.
        flat = [
            Param(re.sub(r"[^\w\-. :/]", "", k), visible(str(v))[:6000]) for k, v in flatten(values)
        ]
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
        found = numbers(stage, values)
        if found and all(self._points.have(name, step, value) for name, value in found.items()):
            return
        found |= numbers(stage, timing or {})
        from mlflow.entities import Metric

        stamp = int(at * 1000)
        metrics = [Metric(name, value, stamp, step) for name, value in found.items()]
        for start in range(0, len(metrics), _BATCH):
            self._try(self.client.log_batch, metrics=metrics[start : start + _BATCH])

    def dataset(self, context: str, *paths: Path) -> None:
        """Record dataset files as inputs of the run, by name and digest."""
        from mlflow.entities import Dataset, DatasetInput, InputTag

        tags = [InputTag("mlflow.data.context", context)]
        entries = [
            Dataset(
                f"{path.parent.name}/{path.stem}",
                file_digest(path)[:32],
                source_type="local",
                source=path.as_posix(),
            )
            for path in paths
        ]
        inputs = [DatasetInput(entry, tags) for entry in entries]
        self._try(self.client.log_inputs, datasets=inputs)

    def artifact(self, path: Path, folder: str | None = None) -> None:
        """Store a file, or what a folder holds, as artifacts; in the named folder of them."""
        action = self.client.log_artifacts if path.is_dir() else self.client.log_artifact
        self._try(action, str(path), artifact_path=folder)

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
        """Whether the newest point of a metric at a step has this value."""
        if name not in self._names:
            return False
        if name not in self._read:
            self._read[name] = self._history(name)
        return self._read[name].get(step) == value

    def _history(self, name: str) -> dict[int, float]:
        try:
            points = self._client.get_metric_history(self._run_id, name)
        except Exception as error:  # an outage, of which the next point to be stored tells
            log.debug("no history of %s: %s", name, first_line(error))
            return {}
        return {p.step: p.value for p in sorted(points, key=lambda point: int(point.timestamp))}


def numbers(stage: str, values: Row) -> dict[str, float]:
    """The numbers of a row, named ``stage/metric``."""
    return {
        f"{stage}/{name}": float(value)
        for name, value in flatten(values)
        if isinstance(value, (int, float)) and name not in ("step", "at")
    }
