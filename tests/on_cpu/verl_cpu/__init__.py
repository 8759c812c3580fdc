"""Lets verl train on a machine without an accelerator.

verl finds it by its entry point, where ``PYTHONPATH`` names the folder above, and imports it in
each of its processes. With ``VERL_PLATFORM=cpu`` verl then runs its own trainer on CPU, with gloo
and FSDP2. The package registers a platform ``cpu`` and a rollout backend ``hf_cpu``, and mends what
verl 0.9.1 takes for granted of an accelerator.
"""

from __future__ import annotations

import functools
import os
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from verl.plugin.platform.platform_base import PlatformBase
from verl.plugin.platform.platform_manager import PlatformRegistry

ROLLOUT = "hf_cpu"


class _DeviceModule(types.ModuleType):
    """Stands in for ``torch.cuda``: what ``torch.cpu`` lacks does nothing and returns 0."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(torch.cpu, name, None) or (lambda *_, **__: 0)


def _device_module() -> types.ModuleType:
    module: Any = _DeviceModule("cpu_device")
    module.is_available = lambda: False
    module.current_device = lambda: "cpu"
    module.get_device_name = lambda *_: "CPU"
    module.mem_get_info = lambda *_: (0, 0)
    return module  # type: ignore[no-any-return]


@PlatformRegistry.register(platform="cpu")
class CpuPlatform(PlatformBase):  # type: ignore[misc]
    """A platform whose processes are the accelerators."""

    device_name = "cpu"
    vendor_name = "cpu"
    device_module = _device_module()

    def is_available(self) -> bool:
        """That it can be used."""
        return True

    def is_platform_available(self, use_smi_check: bool = False) -> bool:
        """That it is never found, only asked for by ``VERL_PLATFORM``."""
        return False

    def current_device(self) -> str:
        """The name of the only device."""
        return "cpu"

    def device_count(self) -> int:
        """The number of devices that a process sees."""
        return 1

    def manual_seed(self, seed: int) -> None:
        """Seed the random numbers."""
        torch.manual_seed(seed)

    manual_seed_all = manual_seed

    def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:
        """That the device has no compute capability."""
        return None, None

    def communication_backend_name(self) -> str:
        """The backend of torch.distributed."""
        return "gloo"

    def visible_devices_envvar(self) -> str:
        """The variable that Ray sets for the resource below."""
        return "CUDA_VISIBLE_DEVICES"

    def ray_resource_name(self) -> str:
        """The Ray resource that a process takes one of; it is a number, not a device."""
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        """No variables."""
        return []

    def is_ipc_supported(self) -> bool:
        """That tensors are not shared between processes."""
        return False

    def cudart(self) -> None:
        """No CUDA runtime."""

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        """Mark nothing."""
        yield

    def _nothing(self, *_: object) -> None:
        """Do nothing, which is all that CPU asks for."""

    set_device = synchronize = set_allocator_settings = empty_cache = _nothing
    profiler_start = profiler_stop = _nothing


def _use_gloo_alone() -> None:
    """Ask torch.distributed for one backend; verl asks for one for CPU and one for the device."""
    import verl.utils.distributed as distributed

    distributed.initialize_global_process_group_ray = functools.partial(
        distributed.initialize_global_process_group_ray, backend="gloo"
    )


def _leave_memory_unpinned() -> None:
    """Offload the reference model without pinned memory, which needs an accelerator."""
    import verl.utils.fsdp_utils as fsdp

    policy = fsdp.CPUOffloadPolicy
    fsdp.CPUOffloadPolicy = lambda pin_memory=True: policy(pin_memory=False)


def _register_rollout() -> None:
    from verl.workers.rollout import base, replica

    def load() -> type:
        from .rollout import TransformersReplica

        return TransformersReplica

    loader: Callable[[], type] = load
    base._ROLLOUT_REGISTRY[(ROLLOUT, "async")] = f"{__name__}.rollout.WeightSender"
    replica.RolloutReplicaRegistry.register(ROLLOUT, loader)


# The FSDP engine is registered for the devices "cuda" and "npu" only; it runs on CPU all the same.
os.environ.setdefault("VERL_ENGINE_DEVICE", "cuda")
_use_gloo_alone()
_leave_memory_unpinned()
_register_rollout()
