"""Why verl failed, where its output says something that its user can mend."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.train.verl.placement import Placement

_MEMORY = re.compile(
    r"CUDA out of memory|torch\.OutOfMemoryError|CUDA error: out of memory"
    r"|No available memory for the cache blocks"
    r"|is less than desired GPU memory utilization"
    r"|estimated maximum model length|larger than the available KV cache memory"
)
_HOST_MEMORY = re.compile(
    r"ray\.exceptions\.OutOfMemoryError|due to the node running low on memory"
)
_DISK = re.compile(
    r"No space left on device|Disk quota exceeded|File too large"
    r"|PytorchStreamWriter failed|unexpected pos \d+ vs \d+"
)
_FREE = re.compile(r"Total available GPUs (\S+) is less than total desired GPUs (\S+)")


def explain(lines: Sequence[str], key: str, placement: Placement, state: str) -> str | None:
    """Return what to do about a failure, or None where trying again may help.

    Args:
        lines: The last lines that verl printed.
        key: Key of the cell.
        placement: Where it trains.
        state: The state folder.
    """
    text = "\n".join(lines)
    where = f"cells.{key}.train"
    if _MEMORY.search(text):
        return (
            f"the accelerators ({placement.describe()}) have too little memory: "
            f"{_quote(_MEMORY, lines)}. Raise {where}.cluster.gpus (now {placement.gpus}), set "
            f"{where}.cluster.offload: true, or lower {where}.max_new_tokens"
        )
    if _HOST_MEMORY.search(text):
        return (
            f"a node has too little memory of its own: {_quote(_HOST_MEMORY, lines)}. Set "
            f"{where}.cluster.offload: false, raise {where}.cluster.nodes (now {placement.nodes}), "
            f"or lower {where}.prompts_per_step"
        )
    if _DISK.search(text):
        return (
            f"no room to write a checkpoint in {state} ({_quote(_DISK, lines)}); the last whole "
            "one is kept. Free some disk space and run it again: it goes on from there"
        )
    if found := _FREE.search(text):
        return (
            f"the cluster has {found[1]} free accelerators and the cell takes {found[2]}; set "
            f"{where}.cluster.gpus to what there is, or wait until others have finished"
        )
    return None


def _quote(pattern: re.Pattern[str], lines: Sequence[str]) -> str:
    """Return the line that says it, without Ray's prefix."""
    line = next(line for line in reversed(lines) if pattern.search(line))
    plain = re.sub(r"\x1b\[[0-9;]*m", "", line)
    return re.sub(r"^\([^)]*\)\s*", "", plain).strip()[:300]
