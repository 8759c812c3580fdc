"""Where a model computes and in which number format."""

from __future__ import annotations

import resource
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import psutil
import torch

from pipeline.errors import UserError

_KIB = 1024
_CONTAINER_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def choose_device(name: str) -> torch.device:
    """Return the device of ``auto`` (a GPU where there is one), ``cpu`` or ``cuda``.

    Raises:
        UserError: If ``cuda`` is asked for and there is none.
    """
    present = torch.cuda.is_available()
    if name == "cuda" and not present:
        raise UserError(
            "train.device is 'cuda', but this machine has no CUDA device that torch can use; "
            "set it to 'auto' or 'cpu'"
        )
    return torch.device("cuda" if present and name != "cpu" else "cpu")


def autocast(device: torch.device, precision: str) -> AbstractContextManager[object]:
    """Return a context in which forward passes run in ``float32`` or ``bfloat16``."""
    enabled = precision == "bfloat16"
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=enabled)


def peak_memory(device: torch.device) -> int:
    """Return the most bytes held so far: by torch on a GPU, by the process on a CPU."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return peak_of_process()


def peak_of_process() -> int:
    """Return the most bytes this process has held."""
    status = Path("/proc/self/status")
    if status.is_file():
        # Not ru_maxrss: a process begins with the highest mark of the one that started it.
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(fields["VmHWM"].split()[0]) * _KIB
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * _KIB


def available_memory(device: torch.device) -> int:
    """Return the bytes that a new process could take on a device.

    On a CPU that is the least of what the machine has free and what a container is allowed.
    """
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    limits = [psutil.virtual_memory().available]
    for path in _CONTAINER_LIMITS:
        text = path.read_text().strip() if path.is_file() else ""
        limits += [int(text)] if text.isdigit() else []
    return min(limits)


def use_threads(count: int) -> None:
    """Fix the thread count and demand deterministic kernels: both are part of the result."""
    torch.set_num_threads(count)
    torch.use_deterministic_algorithms(True, warn_only=True)
    # Nothing here reads memory before it writes it; filling every new tensor takes time.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
