"""Base models of kind ``hub``: published weights, fetched."""

from __future__ import annotations

import shutil
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.base.ownership import owned
from pipeline.config.models import HubModel
from pipeline.config.params import BaseEntry
from pipeline.data.card import NOT_KNOWN, BaseCard
from pipeline.formats.files import link_or_copy, read_json, remove, replacing, write_json
from pipeline.model.check import check_model
from pipeline.model.hub import access_from, fetch
from pipeline.model.manifest import Manifest, StoredModel
from pipeline.stages.base import Made
from pipeline.stages.common import Stage

UNREAD = ("dual_chunk_attention_config",)
"""Keys of ``config.json`` that are left out.

This one divides attention where a text is longer than a chunk (Qwen2.5-7B-Instruct-1M: 262,144
tokens). Within a chunk, where every study stays, attention is the same; transformers knows nothing
of it, and vLLM 0.24 cannot load a model that has it.
"""
CONFIG = "config.json"


def make(stage: Stage, key: str, entry: BaseEntry) -> Made:
    """Fetch a published model; what was fetched before, and is in ``work/`` still, is not again."""
    assert isinstance(entry.model, HubModel)
    work = stage.work(entry.model.repository)
    with owned(work):
        return _fetched(stage, key, entry.model, work)


def _fetched(stage: Stage, key: str, model: HubModel, work: Path) -> Made:
    snapshot, files = fetch(model.repository, model.revision, work, access_from())
    read, dropped = _without_unread(files, work / "read")
    parameters = check_model(read)
    digest = stage.weights_of_base(key).link(read)
    if not dropped and digest != snapshot.stored_digest():
        raise UserError(f"{files}: files changed while they were read; run it again")
    remove(work / "read")
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
            dropped=dropped,
        ),
        BaseCard(model=key, note=NOT_KNOWN),
    )


def _without_unread(files: Path, place: Path) -> tuple[Path, list[str] | None]:
    """Return a folder of a model without the keys that nobody reads, and which these were.

    Args:
        files: The model as it was published, which stays as it is.
        place: Receives the model where there are such keys: the same files but for one.
    """
    config = read_json(files / CONFIG)
    dropped = [key for key in UNREAD if key in config]
    if not dropped:
        return files, None
    with replacing(place) as temporary:
        shutil.copytree(files, temporary, copy_function=link_or_copy)
        (temporary / CONFIG).unlink()
        write_json(temporary / CONFIG, {k: v for k, v in config.items() if k not in dropped})
    return place, dropped
