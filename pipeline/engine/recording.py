"""Work that an accelerator is told once and then repeats by itself.

A token's pass through a small model is some hundred kernels, and the host takes longer to launch
each than the device to run it. A recorded pass is launched as one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from contextlib import suppress

import torch

_log = logging.getLogger(__name__)

Action = Callable[[], None]


def can_record(device: torch.device) -> bool:
    """Whether work on a device can be recorded."""
    return device.type == "cuda"


def record(action: Action) -> Action:
    """What repeats the operations of an action, which is not carried out here.

    ``torch.cuda.graph`` does the same, but waits for the device and empties its cache before, and
    stays on the stream that it records where an operation spoils the recording.

    Raises:
        RuntimeError: If an operation has the host wait for the device.
    """
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin(capture_error_mode="thread_local")
        try:
            action()
        except BaseException:
            with suppress(RuntimeError):  # that there is nothing to end says less
                graph.capture_end()
            raise
        graph.capture_end()
    return graph.replay


class Recording:
    """Records passes until one cannot be recorded; then says so, once, and tries no other."""

    def __init__(self) -> None:
        self._works = True

    def of(self, action: Action) -> Action:
        """What repeats an action, or the action itself.

        Raises:
            torch.OutOfMemoryError: If the device has no room for it.
        """
        if not self._works:
            return action
        try:
            return record(action)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            self._works = False
            _log.warning(
                "a pass cannot be recorded: from here on they are launched for every token: %s",
                error,
            )
            return action


class Repeated:
    """Carries out an action again and again: as it is, then recorded, then replayed.

    Args:
        action: Does the same operations on the same memory each time, as long as what it is called
            with does not change. What it does on the host is not repeated.
        recording: Records it.
    """

    def __init__(self, action: Action, recording: Recording) -> None:
        self.action, self.recording = action, recording
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
            self._again = self.recording.of(self.action)
        self._again()
