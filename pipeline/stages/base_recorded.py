"""Base models of kind ``recorded``: nothing to make, a file of answers to read."""

from __future__ import annotations

from pipeline.base.errors import UserError
from pipeline.config.models import RecordedModel
from pipeline.config.params import BaseEntry
from pipeline.data.card import NOT_KNOWN, BaseCard
from pipeline.formats.files import file_digest
from pipeline.model.manifest import RecordedManifest
from pipeline.stages.base import Made
from pipeline.stages.common import Stage


def make(stage: Stage, key: str, entry: BaseEntry) -> Made:
    """What names the answers."""
    model = entry.model
    assert isinstance(model, RecordedModel)
    path = stage.root / model.answers
    if not path.is_file():
        raise UserError(
            f"base.models.{key}.answers: {model.answers} is not a file here; put the recorded "
            "answers there, or name another file"
        )
    manifest = RecordedManifest(model=key, answers=model.answers, sha256=file_digest(path))
    return Made(manifest, BaseCard(model=key, note=NOT_KNOWN))
