"""Atomic checkpoints, with a fallback if one is damaged.

A checkpoint is a folder ``step-NNNNNN`` with ``tensors.safetensors``, ``state.json`` and
``digests.json``. It is written beside its final name, flushed, and renamed.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from pipeline.formats.files import (
    file_digest,
    read_json,
    remove,
    remove_leftovers,
    replacing,
    write_json,
)
from pipeline.model.weights import write_tensors

log = logging.getLogger(__name__)

DAMAGE = (
    OSError,
    ValueError,
    KeyError,
    RecursionError,
    SafetensorError,
)  # what loading a damaged one raises
_FILES = ("tensors.safetensors", "state.json")


@dataclass(frozen=True)
class Checkpoint:
    """The complete state for resuming a run."""

    step: int
    tensors: dict[str, Tensor]
    state: object  # a JSON value


def save(folder: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint and remove all but the newest two.

    Raises:
        OSError: If there is no room; earlier checkpoints stay.
    """
    target = folder / f"step-{checkpoint.step:06d}"
    with replacing(target) as temporary:
        temporary.mkdir()
        write_tensors(temporary / "tensors.safetensors", checkpoint.tensors)
        write_json(temporary / "state.json", checkpoint.state)
        write_json(temporary / "digests.json", {n: file_digest(temporary / n) for n in _FILES})
    for old in _steps(folder)[2:]:
        remove(old)


def load_latest(folder: Path) -> Checkpoint | None:
    """The newest intact checkpoint, or None; damaged ones are skipped with a warning."""
    if not folder.is_dir():
        return None
    remove_leftovers(folder)
    for path in _steps(folder):
        try:
            return _load(path)
        except DAMAGE as error:
            log.warning("checkpoint %s is damaged (%s): using the one before", path, error)
    return None


def load_step(folder: Path, step: int) -> Checkpoint:
    """The checkpoint of one step; raises one of ``DAMAGE`` if it is missing or damaged."""
    return _load(folder / f"step-{step:06d}")


def _load(path: Path) -> Checkpoint:
    digests = read_json(path / "digests.json")
    for name in _FILES:
        if not isinstance(digests, dict) or file_digest(path / name) != digests.get(name):
            raise ValueError(f"{name} does not have its recorded digest")
    tensors = load_file(path / "tensors.safetensors")
    return Checkpoint(_step_of(path), tensors, read_json(path / "state.json"))


def newest_step(folder: Path) -> int:
    """The step of the newest checkpoint, intact or not; 0 if there is none."""
    return max((_step_of(path) for path in _steps(folder)), default=0)


def _step_of(path: Path) -> int:
    return int(path.name.removeprefix("step-"))


def _steps(folder: Path) -> list[Path]:
    found = (path for path in folder.glob("step-*") if path.name[len("step-") :].isdecimal())
    return sorted(found, reverse=True)
