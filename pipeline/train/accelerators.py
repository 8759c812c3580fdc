"""Memory of accelerators."""

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
"""GiB that CUDA offers (NVIDIA's data sheets, less the driver's share)."""


def capacity(accelerator: str, memory: float | None = None) -> int:
    """Bytes of an accelerator with ``memory`` GiB, or as its kind has."""
    return round((memory or MEMORY[accelerator]) * GIB)
