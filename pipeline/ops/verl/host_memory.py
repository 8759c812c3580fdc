"""How full a node's own memory is, and whether a job that has grown must end before it is killed.

verl's processes grow over hours and days (verl#630, #4995), and another attempt begins without what
they leaked. The kernel and Ray (from 95 %) end single processes without a checkpoint.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

import psutil

CGROUP_VARIABLE = "TOMRL_CGROUP"
"""Folder of the control group whose limit holds; else that of the process."""

_MOUNT, _OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


@dataclass(frozen=True)
class HostMemory:
    """The memory of a machine, or of the container that is nearer to its limit.

    Attributes:
        node: Name of the machine.
        used: Bytes that are held and cannot be had by dropping caches.
        total: Bytes that there are, or that may be held.
    """

    node: str
    used: int
    total: int

    @property
    def share(self) -> float:
        """Return the share that is held."""
        return self.used / self.total


@dataclass(frozen=True)
class Watch:
    """Decides when a job ends because its memory has grown.

    Attributes:
        limit: Share of a node's memory.
        first: The fullest node after the attempt's first step.
    """

    limit: float
    first: HostMemory

    def is_over(self, now: HostMemory) -> bool:
        """Return whether memory has grown above the limit.

        A job that begins above it is let alone: another attempt would begin there too.
        """
        return now.share > self.limit >= self.first.share


def message(found: HostMemory, limit: float, step: int) -> str:
    """Return why a job ends, in words that :mod:`pipeline.ops.verl.failures` knows."""
    return (
        f"host memory of {found.node} has grown to {found.share:.0%} of "
        f"{found.total / 2**30:.1f} GiB, above {limit:.0%}: step {step} is saved"
    )


def host_memory() -> HostMemory:
    """Return the memory of this machine, or of the tightest control group that it is run in."""
    machine, name = psutil.virtual_memory(), platform.node()
    found = [HostMemory(name, machine.total - machine.available, machine.total)]
    for folder in _groups():
        held = group_memory(folder)
        if held is not None and held[1] < machine.total:
            found.append(HostMemory(name, *held))
    return max(found, key=lambda each: each.share)


def group_memory(folder: Path) -> tuple[int, int] | None:
    """Return bytes held and allowed in a control group, of version 2 or 1; None without a limit."""
    for limit, held, cache in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        try:
            allowed, used = ((folder / name).read_text().strip() for name in (limit, held))
            fields = dict(
                line.split() for line in (folder / "memory.stat").read_text().splitlines()
            )
        except OSError:
            continue
        if allowed.isdigit():
            return max(0, int(used) - int(fields.get(cache, 0))), int(allowed)
    return None


def _groups() -> list[Path]:
    """Return the process's control group and all around it: any of them may set a limit."""
    if named := os.environ.get(CGROUP_VARIABLE):
        return [Path(named)]
    groups = []
    for line in _OWN.read_text().splitlines() if _OWN.is_file() else ():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        mount = _MOUNT / "memory" if controllers else _MOUNT
        own = mount / path.lstrip("/")
        groups += [own, *(each for each in own.parents if each.is_relative_to(mount))]
    return groups
