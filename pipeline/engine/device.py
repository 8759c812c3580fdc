"""Devices, number formats and memory."""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import psutil
import torch
from torch import nn

from pipeline.base.errors import UserError
from pipeline.base.plugins import GPUS

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_KIB = 1024
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # malloc.h
_LARGEST_ON_HEAP, _KEPT = 2**25, 2**30  # bytes
_CONTAINER_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def choose_device(name: str) -> torch.device:
    """The device of ``auto`` (a GPU if there is one), ``cpu`` or ``cuda``; UserError if it is
    missing.
    """
    present = torch.cuda.is_available()
    if name == "cuda" and not present:
        raise UserError(
            "train.device is 'cuda', but this machine has no CUDA device that torch can use; "
            "set it to 'auto' or 'cpu'"
        )
    return torch.device("cuda" if present and name != "cpu" else "cpu")


@contextmanager
def own_gpu(name: str, say: Callable[[str], None]) -> Iterator[None]:
    """Wait for a GPU that no other process of this package here has, if ``name`` is ``cuda``."""
    if choose_device(name).type == "cpu":
        yield
        return
    leased = cast(Callable[..., AbstractContextManager[Any]], GPUS.load())
    with leased(1, 1, os.environ, say) as own:
        for place in own.places:
            torch.cuda.set_device(place)
        yield


def autocast(device: torch.device, precision: str) -> AbstractContextManager[object]:
    enabled = precision == "bfloat16"
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=enabled)


def cast_linear(model: nn.Module, precision: str) -> None:
    """Cast a frozen model's linear weights as :func:`autocast` would.

    Results stay bit-identical, without casts in its passes.
    """
    if precision == "bfloat16":
        for layer, name, weight in _linear_weights(model):
            layer._parameters[name] = nn.Parameter(weight.bfloat16(), requires_grad=False)


@contextmanager
def answering(model: PreTrainedModel, precision: str) -> Iterator[None]:
    """A context like :func:`autocast`'s for inference.

    Weights are cast once in it; autocast alone would cast all of them for every token.
    """
    own = _linear_weights(model)
    cast_linear(model, precision)
    try:
        with autocast(model.device, precision):
            yield
    finally:
        for layer, name, weight in own:
            layer._parameters[name] = weight


def _linear_weights(model: nn.Module) -> list[tuple[nn.Module, str, nn.Parameter]]:
    return [
        (layer, name, weight)
        for layer in model.modules()
        if isinstance(layer, nn.Linear)
        for name, weight in layer.named_parameters(recurse=False)
    ]


def peak_memory(device: torch.device) -> int:
    """Peak bytes: allocated by torch on a GPU, resident in the process on a CPU."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return peak_of_process()


def peak_of_process() -> int:
    status = Path("/proc/self/status")
    if status.is_file():
        # Not ru_maxrss: a process begins with the highest mark of the one that started it.
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(fields["VmHWM"].split()[0]) * _KIB
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * _KIB


def available_memory(device: torch.device) -> int:
    """Bytes available to a new process: on a CPU, the least of free memory and container limits."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    limits = [psutil.virtual_memory().available]
    for path in _CONTAINER_LIMITS:
        text = path.read_text().strip() if path.is_file() else ""
        limits += [int(text)] if text.isdigit() else []
    return min(limits)


def set_up_torch(threads: int) -> None:
    """Fix thread count, deterministic kernels and allocator for training and inference.

    Threads and kernels are part of the result. Keeping freed memory saves a tenth of a training
    step, which the kernel would spend filling pages.
    """
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True, warn_only=True)
    # Its gradients differ from run to run, and of a token that sees nothing they are no numbers.
    torch.backends.cuda.enable_cudnn_sdp(False)
    # Nothing here reads memory before it writes it; filling every new tensor takes time.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    _keep_freed_memory()


def _keep_freed_memory() -> None:
    """Let glibc serve large blocks from the heap and keep freed memory; no effect elsewhere.

    The largest stay off it: with those of a model of 135 million weights, such as the logits of a
    micro-batch, between all others, the heap grew by a third within 30 steps.
    """
    if libc := _glibc():
        libc.mallopt(_M_MMAP_THRESHOLD, _LARGEST_ON_HEAP)
        libc.mallopt(_M_TRIM_THRESHOLD, _KEPT)


def hand_back_memory() -> None:
    """Return free memory within glibc's heap to the system; no effect elsewhere.

    The heap fragments as tensors of varying sizes come and go, and grows with the steps. Trimmed
    every ten steps of 135 million weights, it stays constant; a call takes 0.2 s.
    """
    if libc := _glibc():
        libc.malloc_trim(0)


@cache
def _glibc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None
