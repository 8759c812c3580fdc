"""Has verl's ranks write checkpoints to a disk of their node, from which they are copied on.

A step that is saved waits until its checkpoint is written. In the shared folder, where a run on
other nodes must find it, that can take minutes. So each rank writes its part to the node's disk,
and copies it to the shared folder while it trains on. Ranks import this module
(:mod:`pipeline.ops.verl.ranks`).
"""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from verl.utils.checkpoint.fsdp_checkpoint_manager import FSDPCheckpointManager

from pipeline.formats.files import remove
from pipeline.ops.cluster.job import NODE_DISK
from pipeline.ops.verl.layout import ARRIVES, LAST_STEP, State

_write = FSDPCheckpointManager.save_checkpoint


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
    if before := getattr(manager, "copying", None):  # there is room for one at a time
        before.result()
    goal = Path(local_path)
    goal.mkdir(parents=True, exist_ok=True)
    of_rl = goal.name in ("actor", "critic")
    checkpoint = goal.parent if of_rl else goal
    part = f"{goal.name if of_rl else 'model'}-{manager.rank}"
    mark = checkpoint / f"{ARRIVES}{part}"
    mark.touch()
    near = Path(os.environ[NODE_DISK], f"tomrl-{State.of_checkpoint(checkpoint).root.name}", part)
    remove(near)  # of an attempt that was killed
    _write(manager, str(near), hdfs_path, global_step, max_ckpt_to_keep)
    copier = ThreadPoolExecutor(1)
    manager.copying = copying = copier.submit(_move, near, goal, mark)
    copier.shutdown(wait=False)
    if global_step == int(os.environ[LAST_STEP]):  # afterwards verl ends, and its ranks with it
        copying.result()


def _move(near: Path, goal: Path, mark: Path) -> None:
    shutil.copytree(near, goal, dirs_exist_ok=True)
    mark.unlink()
    remove(near)


FSDPCheckpointManager.save_checkpoint = save
