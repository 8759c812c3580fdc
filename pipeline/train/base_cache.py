"""A cache of tiny base models, by everything that decides their bytes.

A model is a function of its recipe, demonstrations, texts, seed, threads, this package's code,
libraries and processor. An entry is a folder with the model, shared with studies by hard links, and
a record; a damaged entry is made again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import tokenizers
import torch
import transformers

from pipeline.base.errors import UserError
from pipeline.config.params import BaseEntry
from pipeline.formats.files import digest_of, folder_digests
from pipeline.formats.records import Record
from pipeline.train.tiny_base import MadeModel, processor
from pipeline.train.warm_start import Demonstration

MODEL = "model"

_NAME = "made.json"
log = logging.getLogger(__name__)


class _Entry(Record):
    """A record with its own digest."""

    digest: str
    model: MadeModel


def key_of(
    entry: BaseEntry,
    threads: int,
    examples: Sequence[Demonstration],
    words: Sequence[str],
    code: Mapping[str, str],
) -> str:
    """The digest of everything that decides the bytes of a tiny model."""
    libraries = [module.__version__ for module in (torch, transformers, tokenizers)]
    made_of = entry.model_dump(mode="json", exclude={"model": {"title"}, "inputs": True})
    shown = [
        {"messages": each.messages, "given": each.given, "response": each.response}
        for each in examples
    ]
    return digest_of([made_of, threads, shown, list(words), dict(code), libraries, processor()])


def recall(folder: Path) -> MadeModel | None:
    """The record of an entry, or None; a warning names any damage."""
    path = folder / _NAME
    if not path.is_file():
        return None
    try:
        entry = _Entry.read(path, "base")
    except UserError:
        entry = None
    if entry is None or entry.digest != _digest(entry.model):
        log.warning("%s is damaged; the model is made again", path)
        return None
    found = entry.model
    if not (folder / MODEL).is_dir():
        return None
    if digest_of(folder_digests(folder / MODEL)) != found.digest:
        log.warning("the model in %s is altered; it is made again", folder)
        return None
    return found


def remember(folder: Path, made: MadeModel) -> None:
    _Entry(digest=_digest(made), model=made).write(folder / _NAME)


def _digest(made: MadeModel) -> str:
    return digest_of(made.model_dump(mode="json"))
