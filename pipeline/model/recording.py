"""Work that an accelerator is told once and then repeats by itself.

A token's pass through a small model is some hundred kernels, and the host takes longer to launch
each than the device to run it. A recorded pass is launched as one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable

import torch

_log = logging.getLogger(__name__)

Action = Callable[[], None]


def can_record(device: torch.device) -> bool:
    """Return whether work on a device can be recorded."""
    return device.type == "cuda"


def record(action: Action) -> Action:
    """Return what repeats the operations of an action, which is not carried out here.

    Raises:
        RuntimeError: If an operation has the host wait for the device.
    """
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        action()
    return graph.replay


class Repeated:
    """Carries out an action again and again: as it is, then recorded, then replayed.

    Args:
        action: Does the same operations on the same memory each time, as long as what it is called
            with does not change. What it does on the host is not repeated.
    """

    def __init__(self, action: Action) -> None:
        self.action = action
        self._shape: Hashable = None
        self._again: Action | None = None

    def __call__(self, shape: Hashable) -> None:
        """Carry the action out.

        Args:
            shape: What the operations depend on; when it changes, they are recorded anew.
        """
        if shape != self._shape:
            # As it is: what libraries make ready at a first call cannot be recorded.
            self._shape, self._again = shape, None
            self.action()
            return
        if self._again is None:
            self._again = self._recorded()
        self._again()

    def _recorded(self) -> Action:
        try:
            return record(self.action)
        except RuntimeError as error:
            _log.warning("a pass cannot be recorded, and is launched for every token: %s", error)
            return self.action
