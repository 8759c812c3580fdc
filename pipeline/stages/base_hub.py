"""Base models of kind ``hub``: published weights, fetched and put into the store."""

from __future__ import annotations

from pathlib import Path

from pipeline.config.models import HubModel
from pipeline.config.params import BaseEntry
from pipeline.data.card import NOT_KNOWN, BaseCard
from pipeline.errors import UserError
from pipeline.files import digest_of, folder_digests, read_json, remove, write_json
from pipeline.model.check import check_model
from pipeline.model.hub import access_from, fetch
from pipeline.model.manifest import Manifest, StoredModel
from pipeline.ownership import owned
from pipeline.stages.base import Made
from pipeline.stages.common import Stage

UNREAD = ("dual_chunk_attention_config",)
"""Keys of ``config.json`` that are not stored.

This one divides attention where a text is longer than a chunk (Qwen2.5-7B-Instruct-1M: 262,144
tokens). Within a chunk, where every study stays, attention is the same; transformers knows nothing
of it, and vLLM 0.24 cannot load a model that has it.
"""
_STORED = "stored.json"
"""In the work folder: what the store has of snapshots that are not stored as they are published."""


def make(stage: Stage, key: str, entry: BaseEntry) -> Made:
    """Fetch a published model and put it into the store."""
    assert isinstance(entry.model, HubModel)
    work = stage.work(entry.model.repository)
    with owned(work):
        return _fetched(stage, key, entry.model, work)


def _fetched(stage: Stage, key: str, model: HubModel, work: Path) -> Made:
    store, record = stage.store, work / _STORED
    known = read_json(record) if record.is_file() else {}

    def stored(digest: str) -> bool:
        digest = known.get(digest, {}).get("digest", digest)
        has = digest in store.digests() and store.verify(digest)
        return has and not _unread(store.root / digest)

    snapshot, files = fetch(model.repository, model.revision, work, access_from(), stored=stored)
    published = snapshot.stored_digest()
    assert published is not None
    if files and (dropped := _drop_unread(files)):
        digest = digest_of(folder_digests(files))
        known[published] = {"digest": digest, "dropped": dropped}
        write_json(record, known)
    entry = known.get(published, {"digest": published, "dropped": None})
    digest = entry["digest"]
    parameters = check_model(files or store.root / digest)
    if files:
        if store.put(files) != digest:
            raise UserError(f"{files}: files changed while they were stored; run it again")
        remove(files)
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
            dropped=entry["dropped"],
        ),
        BaseCard(model=key, note=NOT_KNOWN),
    )


def _unread(folder: Path) -> list[str]:
    return [key for key in UNREAD if key in read_json(folder / "config.json")]


def _drop_unread(folder: Path) -> list[str]:
    """Write the configuration of a folder anew without what is not stored; return those keys."""
    dropped, path = _unread(folder), folder / "config.json"
    if dropped:  # it may be a link to a file of a mirror, which stays as it is
        write_json(path, {k: v for k, v in read_json(path).items() if k not in dropped})
    return dropped
