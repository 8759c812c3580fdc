"""Ragged token sequences as padded tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor


def sent(values: Sequence[object] | np.ndarray, device: torch.device) -> Tensor:
    """Numbers as a tensor on a device, without synchronisation: copied from pinned memory."""
    made = torch.tensor(values)
    if device.type == "cuda":
        made = made.pin_memory()  # torch.tensor itself pins nothing that comes from numpy
    return made.to(device, non_blocking=True)


def pad_left(
    rows: Sequence[Sequence[int]], pad: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Ids [N, L] and mask [N, L] (True on real tokens) with padding before each row."""
    width = max(map(len, rows))
    ids = [[pad] * (width - len(row)) + list(row) for row in rows]
    mask = [[False] * (width - len(row)) + [True] * len(row) for row in rows]
    return sent(ids, device), sent(mask, device)


def pad_right(
    rows: Sequence[Sequence[int]], pad: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Ids [N, T] and mask [N, T] (True on real tokens) with padding after each row."""
    width = max(1, *map(len, rows)) if rows else 1
    ids = [list(row) + [pad] * (width - len(row)) for row in rows]
    mask = [[True] * len(row) + [False] * (width - len(row)) for row in rows]
    return sent(ids, device), sent(mask, device)


def real_places(rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Indices of :func:`pad_right`'s real tokens among its N * T positions, in order."""
    width = max(1, *map(len, rows)) if rows else 1
    places = [index * width + place for index, row in enumerate(rows) for place in range(len(row))]
    return sent(places, device)


def positions(mask: Tensor) -> Tensor:
    """Position of each token in its row, counting real tokens only. [N, L] -> [N, L]."""
    return (mask.long().cumsum(-1) - 1).clamp_min(0)
