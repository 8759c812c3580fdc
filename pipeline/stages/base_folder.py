"""Base models of kind ``folder``: weights that lie here, in Hugging Face's layout."""

from __future__ import annotations

from pipeline.base.errors import UserError
from pipeline.base.ownership import owned
from pipeline.config.models import FolderModel
from pipeline.config.params import BaseEntry
from pipeline.formats.files import file_digest, link_or_copy, remove, replacing
from pipeline.model.snapshot import weights_and_descriptions
from pipeline.stages.base import Made
from pipeline.stages.common import Stage
from pipeline.stages.published import CONFIG, WeightsSource, taken


def make(stage: Stage, key: str, entry: BaseEntry) -> Made:
    """Take the weights, and what describes the model; nothing else of the folder."""
    model = entry.model
    assert isinstance(model, FolderModel)
    source, work = stage.root / model.path, stage.work(model.path)
    if not (source / CONFIG).is_file():
        raise UserError(
            f"base.models.{key}.path: {model.path} is not a model folder: it has no {CONFIG}"
        )
    names = {path.name for path in source.iterdir() if path.is_file()}
    with owned(work):
        with replacing(work / "files") as folder:
            folder.mkdir()
            for name in sorted(weights_and_descriptions(names, model.path)):
                link_or_copy(source / name, folder / name)
        files = {path.name: file_digest(path) for path in sorted((work / "files").iterdir())}
        made = taken(stage, key, model, work / "files", work, WeightsSource(model.path, {**files}))
        remove(work / "files")
    return made
