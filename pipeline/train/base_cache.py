"""Tiny base models kept by what made them, so that no study makes the same one twice.

A model is a function of its recipe, demonstrations, texts, seed, threads, this package's code, the
libraries and the processor. An entry is a small file that names the model in the artifact store;
it counts only if it and the model are whole, and a model is made again otherwise.
"""

from __future__ import annotations

import json
import logging
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers

import pipeline
from pipeline.config.params import BaseEntry
from pipeline.files import digest_of, file_digest, read_json, write_json
from pipeline.store import LocalStore
from pipeline.train.warm_start import Demonstration

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class MadeModel:
    """A tiny model in the artifact store.

    Attributes:
        digest: Of its folder in the store.
        parameters: Number of its weights.
        tokens: Size of its vocabulary.
        losses: Loss of each step of its warm start.
    """

    digest: str
    parameters: int
    tokens: int
    losses: tuple[float, ...]


def key_of(
    entry: BaseEntry, threads: int, examples: Sequence[Demonstration], texts: Sequence[str]
) -> str:
    """Return the digest of everything that decides the bytes of a tiny model."""
    package = Path(pipeline.__file__).parent
    code = {
        path.relative_to(package).as_posix(): file_digest(path)
        for path in sorted(package.rglob("*.py"))
    }
    libraries = [module.__version__ for module in (torch, transformers, tokenizers)]
    processor = [platform.machine(), torch.backends.cpu.get_cpu_capability()]
    made_of = entry.model_dump(mode="json", exclude={"model": {"title"}})
    shown = [asdict(example) for example in examples]
    return digest_of([made_of, threads, shown, list(texts), code, libraries, processor])


def recall(folder: Path, store: LocalStore) -> MadeModel | None:
    """Return the model that an entry names, or None; says why where an entry is no good."""
    path = folder / "made.json"
    if not path.is_file():
        return None
    try:
        content = read_json(path)
        found = MadeModel(**{**content["model"], "losses": tuple(content["model"]["losses"])})
        whole = content["digest"] == digest_of(content["model"])
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError):
        whole = False
    if not whole:
        log.warning("%s is damaged; the model is made again", path)
        return None
    if found.digest not in store.digests():
        return None
    if not store.verify(found.digest):
        log.warning("model %s in %s is altered; it is made again", found.digest[:12], store.root)
        return None
    return found


def remember(folder: Path, made: MadeModel) -> None:
    """Write the entry of a model that is in the store."""
    content: dict[str, Any] = json.loads(json.dumps(asdict(made)))
    write_json(folder / "made.json", {"digest": digest_of(content), "model": content})
