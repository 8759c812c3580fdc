"""Base models of kind ``hub``: published weights, fetched."""

from __future__ import annotations

from pipeline.base.ownership import owned
from pipeline.config.models import HubModel
from pipeline.config.params import BaseEntry
from pipeline.model.hub import access_from, fetch
from pipeline.stages.base import Made
from pipeline.stages.common import Stage
from pipeline.stages.published import WeightsSource, taken


def make(stage: Stage, key: str, entry: BaseEntry) -> Made:
    """Fetch a published model; what was fetched before, and is in ``work/`` still, is not again."""
    model = entry.model
    assert isinstance(model, HubModel)
    work = stage.work(model.repository)
    with owned(work):
        snapshot, folder = fetch(model.repository, model.revision, work, access_from())
        source = WeightsSource(
            f"{model.repository} at {snapshot.revision}",
            {file.name: file.sha256 for file in snapshot.files},
            snapshot.repository,
            snapshot.revision,
            snapshot.stored_digest(),
        )
        return taken(stage, key, model, folder, work, source)
