"""Checkpoints as MLflow's logged models.

The weights stay in ``weights/STUDY/CELL/DIGEST``; MLflow has what leads to them. What is there
already is found by its tags and not stored again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import LoggedModel

_IDENTITY = ("study", "cell", "role", "digest")
_PAGE = 50  # as many logged models as MLflow gives at a time


@dataclass(frozen=True)
class LoggedCheckpoint:
    """Weights of a cell.

    Attributes:
        study: Key of the study.
        cell: Key of the cell.
        role: ``base``, ``best`` or ``last``.
        digest: Of the weights.
        step: The training step that they come from.
        run_id: The run of the cell.
        tags: What people filter on.
    """

    study: str
    cell: str
    role: str
    digest: str
    step: int
    run_id: str
    tags: Mapping[str, str] = field(default_factory=dict)

    def identity(self) -> dict[str, str]:
        return {name: str(getattr(self, name)) for name in _IDENTITY}


class Models:
    """The logged models of a study.

    Args:
        client: Of the tracking address.
        experiment: Id of the experiment.
        study: Key of the study.
    """

    def __init__(self, client: MlflowClient, experiment: str, study: str) -> None:
        self._client, self._experiment, self._study = client, experiment, study
        self._known = {_key(model.tags): model for model in self._logged()}

    def log(self, checkpoint: LoggedCheckpoint) -> None:
        """Have a checkpoint as a logged model of its run."""
        from mlflow.entities import LoggedModelOutput, LoggedModelStatus

        found = self._known.get(_key(checkpoint.identity()))
        if found is None:
            found = self._create(checkpoint)
        model_id = str(found.model_id)
        if found.status != LoggedModelStatus.READY:  # just made, or left by a process that died
            run = self._client.get_run(checkpoint.run_id)
            if all(output.model_id != model_id for output in run.outputs.model_outputs):
                output = LoggedModelOutput(model_id, checkpoint.step)
                self._client.log_outputs(checkpoint.run_id, [output])
            found = self._client.finalize_logged_model(model_id, LoggedModelStatus.READY)
        self._known[_key(checkpoint.identity())] = found

    def _logged(self) -> Iterable[LoggedModel]:
        token = None
        while True:
            page = self._client.search_logged_models(
                [self._experiment], f"tags.study = '{self._study}'", None, _PAGE, page_token=token
            )
            yield from page
            if not (token := page.token):
                return

    def _create(self, checkpoint: LoggedCheckpoint) -> LoggedModel:
        return self._client.create_logged_model(
            self._experiment,
            name=f"{checkpoint.cell}-{checkpoint.role}",
            source_run_id=checkpoint.run_id,
            tags={**checkpoint.tags, **checkpoint.identity()},
            params={"step": str(checkpoint.step)},
        )


def _key(tags: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(tags.get(name, "") for name in _IDENTITY)
