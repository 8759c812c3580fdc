"""Trackers beside MLflow that mirror the files as it does, if named: W&B, and Trackio alike.

A run of theirs is a cell as its files are; where these have changed, there is another one.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from pipeline.base.errors import UserError, first_line
from pipeline.base.trackers import VARIABLE, chosen
from pipeline.config.params import Params
from pipeline.formats.files import digest_of, write_text
from pipeline.formats.foreign import visible
from pipeline.ops.mirror.done import Done
from pipeline.ops.mirror.run import Row, dataset_named, flatten, numbers
from pipeline.ops.mirror.send import STAGES, mirror


def send_elsewhere(params: Params, root: Path) -> dict[str, list[str]]:
    """Send the cells whose files a tracker lacks; return their keys by tracker."""
    return {
        name: [key for key in params.cells if _send(name, params, root, key)]
        for name in chosen(os.environ)
    }


def _send(name: str, params: Params, root: Path, key: str) -> bool:
    left = [done for done in (Done(params, key, stage, root) for stage in STAGES) if done.digest]
    note = root / "logs" / params.study.name / key / f"{name}.sent"
    digest = digest_of([done.digest for done in left])
    if not left or (note.is_file() and note.read_bytes() == digest.encode()):
        return False
    try:
        library = import_module(name)
    except ImportError:
        text = f"{VARIABLE} names {name}, which is not installed; pip install {name}"
        raise UserError(text) from None
    try:
        config = {k: visible(str(v)) for k, v in flatten(params.cell(key).model_dump(mode="json"))}
        with warnings.catch_warnings(record=True, action="always") as said:
            run = library.init(project="tomrl", group=params.study.name, name=key, config=config)
            tracker = _Run(run)
            for done in left:
                mirror(tracker, done)
            run.log(tracker.known)
            run.finish()
        lost = [each for each in said if each.category is UserWarning and name in each.filename]
        if lost:  # Trackio raises nothing
            raise RuntimeError(lost[0].message)
    except UserError:
        raise
    except Exception as error:
        raise UserError(
            f"{name} does not take the results of {key} ({first_line(error)}); the files hold "
            "everything, send them later with: tomrl sync"
        ) from error
    write_text(note, digest)
    return True


class _Run:
    """A run of W&B or Trackio; what is known of the cell, tags and files, is sent at the end."""

    def __init__(self, run: Any) -> None:
        self._run = run
        self.known: dict[str, str] = {}

    def tags(self, values: Mapping[str, object]) -> None:
        self.known |= {name: visible(str(value)) for name, value in values.items()}

    def step(
        self, stage: str, step: int, values: Row, at: float, timing: Row | None = None
    ) -> None:
        self._run.log(numbers(stage, {**(timing or {}), **values}) | {f"{stage}/step": step})

    def dataset(self, context: str, *paths: Path) -> None:
        self.known |= {f"{context}.{name}": digest for name, digest in map(dataset_named, paths)}
