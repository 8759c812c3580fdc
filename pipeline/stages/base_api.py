"""Base models of kind ``api``: nothing to make, an address to ask."""

from __future__ import annotations

from pipeline.config.models import ApiModel
from pipeline.config.params import BaseEntry
from pipeline.data.card import NOT_KNOWN, BaseCard
from pipeline.model.manifest import ApiManifest
from pipeline.stages.base import Made
from pipeline.stages.common import Stage


def make(stage: Stage, key: str, entry: BaseEntry) -> Made:
    """What names the model."""
    model = entry.model
    assert isinstance(model, ApiModel)
    manifest = ApiManifest(
        model=key,
        api=model.model,
        address=model.address,
        key=model.key,
        prompt_price=model.prompt_price,
        completion_price=model.completion_price,
    )
    return Made(manifest, BaseCard(model=key, note=NOT_KNOWN))
