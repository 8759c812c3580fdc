"""Checkpoints as MLflow's logged models.

The weights stay in ``weights/STUDY/CELL/DIGEST``; MLflow has what leads to them. What is there
already is found by its tags and not stored again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pipeline.ops.mirror.run import Tracker

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import LoggedModel

_IDENTITY = ("study", "cell", "role", "digest")
_PAGE = 50  # as many logged models as MLflow gives at a time


def identity(tags: Mapping[str, str]) -> tuple[str, ...]:
    """What tells one checkpoint from all others."""
    return tuple(tags.get(name, "") for name in _IDENTITY)


def logged_models(client: MlflowClient, experiment: str, study: str) -> Iterator[LoggedModel]:
    """Yield the logged models of a study."""
    token = None
    while True:
        page = client.search_logged_models(
            [experiment], f"tags.study = '{study}'", None, _PAGE, page_token=token
        )
        yield from page
        if not (token := page.token):
            return


def log_checkpoint(
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
