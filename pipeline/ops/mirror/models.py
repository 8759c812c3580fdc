"""Checkpoints as MLflow's logged models, and the best of them in its registry.

The weights stay in ``weights/``, named by their digest; MLflow has what leads to them. What
is there already is found by its tags and not stored again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.ops.mirror.loader import WeightsPlace, write_model

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import LoggedModel

_IDENTITY = ("study", "cell", "role", "digest")
_PREFIX = "best-"
_PAGE = 50  # as many logged models as MLflow gives at a time


@dataclass(frozen=True)
class LoggedMetric:
    """What was measured of a checkpoint, as the run of its cell has it too.

    Attributes:
        name: Of the metric.
        value: What was measured.
        step: The step of training.
        at: When, in seconds since the epoch.
        dataset: Name and digest of the questions; None where there are none.
    """

    name: str
    value: float
    step: int
    at: float
    dataset: tuple[str, str] | None = None


@dataclass(frozen=True)
class RegisteredCheckpoint:
    """Weights of a cell.

    Attributes:
        study: Key of the study.
        cell: Key of the cell.
        role: ``base``, ``best`` or ``last``.
        digest: Of the weights.
        step: The training step that they come from.
        run_id: The run of the cell.
        tags: What people filter on.
        measured: Everything that was measured of it.
    """

    study: str
    cell: str
    role: str
    digest: str
    step: int
    run_id: str
    tags: Mapping[str, str] = field(default_factory=dict)
    measured: Sequence[LoggedMetric] = ()

    def identity(self) -> dict[str, str]:
        """The tags that it is found by."""
        return {name: str(getattr(self, name)) for name in _IDENTITY}


class Models:
    """The logged models of a study, and its registered model.

    Args:
        client: Of the tracking address.
        experiment: Id of the experiment.
        study: Key of the study, which is the name of the registered model.
    """

    def __init__(self, client: MlflowClient, experiment: str, study: str) -> None:
        self._client, self._experiment, self._study = client, experiment, study
        self._known = {_key(model.tags): model for model in self._logged()}

    def log(self, checkpoint: RegisteredCheckpoint) -> LoggedModel:
        """Have a checkpoint as a logged model with all that was measured, and return that."""
        from mlflow.entities import LoggedModelOutput, LoggedModelStatus

        found = self._known.get(_key(checkpoint.identity()))
        if found is None:
            found = self._create(checkpoint)
        self._measure(found, checkpoint)
        model_id = str(found.model_id)
        if found.status != LoggedModelStatus.READY:  # just made, or left by a process that died
            run = self._client.get_run(checkpoint.run_id)
            if all(output.model_id != model_id for output in run.outputs.model_outputs):
                output = LoggedModelOutput(model_id, checkpoint.step)
                self._client.log_outputs(checkpoint.run_id, [output])
            self._keep(model_id, checkpoint)
            found = self._client.finalize_logged_model(model_id, LoggedModelStatus.READY)
        self._known[_key(checkpoint.identity())] = found
        return found

    def register(
        self, versions: Iterable[tuple[RegisteredCheckpoint, LoggedModel]], best: Mapping[str, str]
    ) -> None:
        """Have a version of the registered model for each checkpoint, and aliases for the best.

        Args:
            versions: Each checkpoint with its logged model.
            best: The cell whose checkpoint is the best, by alias without its ``best-``.
        """
        pairs = list(versions)
        if not pairs:
            return
        self._ensure_registered()
        found = self._client.search_model_versions(f"name = '{self._study}'")
        numbers = {_key(each.tags): str(each.version) for each in found}
        of_cell: dict[str, str] = {}
        for checkpoint, model in pairs:
            key = _key(checkpoint.identity())
            of_cell[checkpoint.cell] = numbers.get(key) or self._version(checkpoint, model)
        self._point({_PREFIX + name: of_cell[cell] for name, cell in best.items()})

    def _logged(self) -> Iterable[LoggedModel]:
        token = None
        while True:
            page = self._client.search_logged_models(
                [self._experiment], f"tags.study = '{self._study}'", None, _PAGE, page_token=token
            )
            yield from page
            if not (token := page.token):
                return

    def _create(self, checkpoint: RegisteredCheckpoint) -> LoggedModel:
        return self._client.create_logged_model(
            self._experiment,
            name=f"{checkpoint.cell}-{checkpoint.role}",
            source_run_id=checkpoint.run_id,
            tags={
                **checkpoint.tags,
                **checkpoint.identity(),
            },
            params={"step": str(checkpoint.step)},
        )

    def _keep(self, model_id: str, checkpoint: RegisteredCheckpoint) -> None:
        """Store what loads a model: see :mod:`pipeline.ops.mirror.loader`."""
        weights = f"weights/{checkpoint.study}/{checkpoint.cell}"
        place = WeightsPlace(weights, f"train@{checkpoint.cell}", checkpoint.digest)
        with tempfile.TemporaryDirectory() as folder:
            write_model(Path(folder), place, model_id, checkpoint.run_id)
            self._client.log_model_artifacts(model_id, folder)

    def _measure(self, model: LoggedModel, checkpoint: RegisteredCheckpoint) -> None:
        """Store what a logged model lacks of what was measured."""
        from mlflow.entities import Metric

        has = {(each.key, each.step, each.value) for each in model.metrics or ()}
        metrics = [
            Metric(
                each.name,
                each.value,
                int(each.at * 1000),
                each.step,
                model_id=model.model_id,
                dataset_name=each.dataset and each.dataset[0],
                dataset_digest=each.dataset and each.dataset[1],
                run_id=checkpoint.run_id,
            )
            for each in checkpoint.measured
            if (each.name, each.step, each.value) not in has
        ]
        if metrics:
            self._client.log_batch(checkpoint.run_id, metrics=metrics)

    def _ensure_registered(self) -> None:
        from mlflow.exceptions import MlflowException

        try:
            self._client.create_registered_model(
                self._study,
                description="The checkpoint of each cell that is evaluated; `best-TASK` is the "
                "cell with the highest accuracy there. The weights are tracked by DVC.",
            )
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise

    def _version(self, checkpoint: RegisteredCheckpoint, model: LoggedModel) -> str:
        made = self._client.create_model_version(
            self._study,
            source=model.artifact_location,
            run_id=checkpoint.run_id,
            tags={**checkpoint.tags, **checkpoint.identity()},
            description=f"{checkpoint.role} checkpoint of cell {checkpoint.cell}, step "
            f"{checkpoint.step}: weights {checkpoint.digest}; "
            f"`dvc pull train@{checkpoint.cell}` brings them",
            model_id=model.model_id,
            await_creation_for=0,
        )
        return str(made.version)

    def _point(self, wanted: Mapping[str, str]) -> None:
        """Have these aliases, and of those that name a best one no others."""
        aliases = self._client.get_registered_model(self._study).aliases
        for alias, version in wanted.items():
            if str(aliases.get(alias)) != version:
                self._client.set_registered_model_alias(self._study, alias, version)
        for alias in aliases.keys() - wanted.keys():
            if alias.startswith(_PREFIX):
                self._client.delete_registered_model_alias(self._study, alias)


def _key(tags: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(tags.get(name, "") for name in _IDENTITY)
