"""Base models of kind ``hub``: published weights, fetched."""

from __future__ import annotations

from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.base.ownership import owned
from pipeline.config.models import HubModel
from pipeline.config.params import BaseEntry
from pipeline.data.card import NOT_KNOWN, BaseCard
from pipeline.model.check import check_model
from pipeline.model.hub import access_from, fetch
from pipeline.model.manifest import Manifest, StoredModel
from pipeline.stages.base import Made
from pipeline.stages.common import Stage


def make(stage: Stage, key: str, entry: BaseEntry) -> Made:
    """Fetch a published model; what was fetched before, and is in ``work/`` still, is not again."""
    assert isinstance(entry.model, HubModel)
    work = stage.work(entry.model.repository)
    with owned(work):
        return _fetched(stage, key, entry.model, work)


def _fetched(stage: Stage, key: str, model: HubModel, work: Path) -> Made:
    snapshot, files = fetch(model.repository, model.revision, work, access_from())
    parameters = check_model(files)
    digest = stage.weights_of_base(key).link(files)
    if digest != snapshot.stored_digest():
        raise UserError(f"{files}: files changed while they were read; run it again")
    print(f"base {key}: {model.repository} at {snapshot.revision}, {parameters:,} parameters")
    return Made(
        Manifest(
            model=key,
            use="base",
            checkpoints={"base": StoredModel(step=0, digest=digest)},
            parameters=parameters,
            repository=snapshot.repository,
            revision=snapshot.revision,
            files={file.name: file.sha256 for file in snapshot.files},
        ),
        BaseCard(model=key, note=NOT_KNOWN),
    )
