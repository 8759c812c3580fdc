"""What accelerators hold."""

from __future__ import annotations

GIB = 2**30
MEMORY: dict[str, float] = {
    "l4": 22.0,
    "rtx-4090": 23.5,
    "a100-40": 39.4,
    "a100-80": 79.2,
    "h100": 79.2,
    "h200": 139.8,
}
"""GiB that CUDA offers on each accelerator (NVIDIA's data sheets, less what the driver keeps)."""


def capacity(accelerator: str, memory: float | None = None) -> int:
    """The bytes of an accelerator: so many GiB, or what its kind has."""
    return round((memory or MEMORY[accelerator]) * GIB)
