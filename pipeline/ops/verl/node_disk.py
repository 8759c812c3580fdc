"""Has verl's ranks write checkpoints to a disk of their node, from which they are copied on.

A step that is saved waits until its checkpoint is written. In the shared folder, where a run on
other nodes must find it, that can take minutes. So each rank writes its part to the node's disk,
and copies it to the shared folder while it trains on. Ranks import this module
(:mod:`pipeline.ops.verl.ranks`).
"""

from __future__ import annotations

import os
import platform
import shutil
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from verl.utils.checkpoint.fsdp_checkpoint_manager import FSDPCheckpointManager

from pipeline.base.errors import UserError
from pipeline.formats.files import remove
from pipeline.ops.verl.layout import ARRIVES, LAST_STEP, NODE_DISK

_begin, _write = FSDPCheckpointManager.__init__, FSDPCheckpointManager.save_checkpoint


def begin(manager: Any, *arguments: Any, **options: Any) -> None:
    """verl's ``__init__``, for a rank whose node has the disk.

    Raises:
        UserError: If nothing can be written there.
    """
    _begin(manager, *arguments, **options)
    folder = Path(os.environ[NODE_DISK])
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{NODE_DISK}: found {folder.parent}, which on the node {platform.node()} is no folder "
            f"that can be written to ({error.strerror}); name one that each node has on its own "
            "disk, or unset it"
        ) from None
    manager.copier, manager.copying = ThreadPoolExecutor(1), None


def save(
    manager: Any,
    local_path: str,
    hdfs_path: str | None = None,
    global_step: int = 0,
    max_ckpt_to_keep: int | None = None,
) -> None:
    """verl's ``save_checkpoint``; what it has written arrives later, but of the last step at once.

    Raises:
        OSError: If this checkpoint could not be written, or the one before not be copied.
    """
    if manager.copying is not None:  # there is room for one at a time
        manager.copying.result()
    goal = Path(local_path)
    goal.mkdir(parents=True, exist_ok=True)
    mark = goal / f"{ARRIVES}{manager.rank}"
    mark.touch()
    kind = goal.name if goal.name in ("actor", "critic") else "model"
    near = Path(os.environ[NODE_DISK]) / f"{kind}-{manager.rank}"
    remove(near)  # of an attempt that was killed
    _write(manager, str(near), hdfs_path, global_step, max_ckpt_to_keep)
    copying: Future[None] = manager.copier.submit(_move, near, goal, mark)
    manager.copying = copying
    if global_step == int(os.environ[LAST_STEP]):  # afterwards verl ends, and its ranks with it
        copying.result()


def _move(near: Path, goal: Path, mark: Path) -> None:
    shutil.copytree(near, goal, dirs_exist_ok=True)
    mark.unlink()
    remove(near)


FSDPCheckpointManager.__init__, FSDPCheckpointManager.save_checkpoint = begin, save
