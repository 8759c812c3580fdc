"""Trackers beside MLflow, which mirror the files as it does: Weights & Biases, and Trackio.

Both are spoken to as W&B is. A run of theirs is a cell as its files are; where these have changed,
there is another one. Nothing is sent unless ``TOMRL_TRACKERS`` names them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from pipeline.base.errors import UserError, first_line
from pipeline.base.trackers import VARIABLE, chosen
from pipeline.config.params import Params
from pipeline.formats.files import digest_of, write_json
from pipeline.formats.foreign import visible
from pipeline.ops.mirror.done import Done
from pipeline.ops.mirror.run import Row, dataset_named, flatten, numbers
from pipeline.ops.mirror.send import STAGES, mirror


def send_elsewhere(params: Params, root: Path) -> dict[str, list[str]]:
    """Send the cells whose files a tracker lacks; return their keys by tracker.

    Raises:
        UserError: If a tracker is not known, not installed, or does not answer.
    """
    return {
        name: [key for key in params.cells if _send(name, params, root, key)]
        for name in chosen(os.environ)
    }


def _send(name: str, params: Params, root: Path, key: str) -> bool:
    stages = [Done(params, key, stage, root) for stage in STAGES]
    left = [done for done in stages if done.digest]
    note = root / "logs" / params.study.name / key / f"{name}.json"
    digest = digest_of([done.digest for done in left])
    if not left or _noted(note) == digest:
        return False
    try:
        library = import_module(name)
    except ImportError:
        text = f"{VARIABLE} names {name}, which is not installed; pip install {name}"
        raise UserError(text) from None
    try:
        config = {k: visible(str(v)) for k, v in flatten(params.cell(key).model_dump(mode="json"))}
        run = library.init(project="tomrl", group=params.study.name, name=key, config=config)
        tracker = _Run(run)
        for done in left:
            mirror(tracker, done)
        run.log(tracker.known)
        run.finish()
    except UserError:
        raise
    except Exception as error:
        raise UserError(
            f"{name} does not take the results of {key} ({first_line(error)}); the files hold "
            "everything, send them later with: tomrl sync"
        ) from error
    write_json(note, {"sent": digest})
    return True


def _noted(note: Path) -> str | None:
    """What was sent last; nothing where that is not known."""
    try:
        found = json.loads(note.read_text(encoding="utf-8"))["sent"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return str(found)


class _Run:
    """A run that is spoken to as one of W&B is; its steps have names by their stage."""

    def __init__(self, run: Any) -> None:
        self._run = run
        self.known: dict[str, str] = {}

    def tags(self, values: Mapping[str, object]) -> None:
        """Keep what is known of the cell; it is sent at the end."""
        self.known |= {name: visible(str(value)) for name, value in values.items()}

    def step(
        self, stage: str, step: int, values: Row, at: float, timing: Row | None = None
    ) -> None:
        """Send what one step measured."""
        self._run.log(numbers(stage, {**(timing or {}), **values}) | {f"{stage}/step": step})

    def dataset(self, context: str, *paths: Path) -> None:
        """Keep the names and digests of dataset files."""
        for path in paths:
            name, digest = dataset_named(path)
            self.known[f"{context}.{name}"] = digest
