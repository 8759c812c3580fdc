"""What every published model goes through before it is taken, wherever it comes from."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.config.models import Published
from pipeline.data.card import NOT_KNOWN, BaseCard
from pipeline.formats.files import link_or_copy, read_json, remove, replacing, write_json
from pipeline.model.check import check_model
from pipeline.model.manifest import Manifest, StoredModel
from pipeline.model.turns import mending_of
from pipeline.stages.base import Made
from pipeline.stages.common import Stage

UNREAD = ("dual_chunk_attention_config",)
"""Keys of ``config.json`` that are left out.

This one divides attention where a text is longer than a chunk (Qwen2.5-7B-Instruct-1M: 262,144
tokens). Within a chunk, where every study stays, attention is the same; transformers knows nothing
of it, and vLLM 0.24 cannot load a model that has it.
"""
CONFIG = "config.json"


@dataclass(frozen=True)
class WeightsSource:
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


def taken(
    stage: Stage, key: str, model: Published, folder: Path, work: Path, source: WeightsSource
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
    config = read_json(folder / CONFIG)
    dropped = [name for name in UNREAD if name in config]
    read = folder
    if dropped or mending.said:
        read = work / "read"
        with replacing(read) as temporary:
            shutil.copytree(folder, temporary, copy_function=link_or_copy)
            mending.write(temporary)
            if dropped:
                kept = {name: value for name, value in config.items() if name not in dropped}
                write_json(temporary / CONFIG, kept)
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
