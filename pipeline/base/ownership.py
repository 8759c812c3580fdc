"""Exclusive ownership of folders of resumable state."""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

import psutil

from pipeline.base.disk import writing
from pipeline.base.errors import UserError
from pipeline.base.locks import is_locked, locked
from pipeline.base.processes import GRACE_SECONDS

PATIENCE_SECONDS = GRACE_SECONDS + 5
"""Seconds to wait for an owner: one whose ``dvc`` was killed ends within its grace."""


@contextmanager
def owned(folder: Path, patience: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Own a folder while the block runs, or until this process dies, even by SIGKILL.

    The folder need not exist; lock and note about the owner are in ``FOLDER.lock`` beside it. Some
    file systems limit it to this machine.

    Raises:
        UserError: If another process owns it; names that process and what to do.
    """
    with ExitStack() as held:
        try:
            handle = held.enter_context(locked(_lock_of(folder), 0.0))
        except BlockingIOError:
            print(f"{in_use(folder)}; waiting for it to end", file=sys.stderr, flush=True)
            try:
                handle = held.enter_context(locked(_lock_of(folder), patience))
            except BlockingIOError:
                owner = owner_of(folder)
                how = f" with: kill {owner['process']}" if owner else ""
                raise UserError(
                    f"{in_use(folder)}, and two would overwrite each other's state. Wait until it "
                    f"has ended, or end it{how}, and run this again: it goes on from there"
                ) from None
        os.ftruncate(handle, 0)
        with writing(_lock_of(folder)):
            os.pwrite(handle, json.dumps(_this_process()).encode(), 0)
        yield


def is_owned(folder: Path) -> bool:
    return is_locked(_lock_of(folder))


def in_use(folder: Path) -> str:
    owner = owner_of(folder)
    if owner is None:
        return f"{folder} is in use by another process"
    return (
        f"{folder} is in use by process {owner['process']} on {owner['machine']} since "
        f"{owner['since']} ({owner['command']})"
    )


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


def owner_of(folder: Path) -> dict[str, str] | None:
    try:
        found: dict[str, str] = json.loads(_lock_of(folder).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found


def _this_process() -> dict[str, str]:
    return {
        "process": str(os.getpid()),
        "machine": platform.node(),
        "since": datetime.now().astimezone().isoformat(sep=" ", timespec="seconds"),
        "command": shlex.join(psutil.Process().cmdline()),
    }
