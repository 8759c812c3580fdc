"""Recording and replaying work on an accelerator.

A token's pass through a small model is some hundred kernels, which take longer to launch than to
run. A recorded pass is one launch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from contextlib import suppress

import torch

_log = logging.getLogger(__name__)

Action = Callable[[], None]


def can_record(device: torch.device) -> bool:
    return device.type == "cuda"


def record(action: Action) -> Action:
    """Capture an action's operations without running them; return their replay.

    ``torch.cuda.graph`` does the same, but synchronises and empties the cache first, and stays on
    its stream if an operation breaks the capture.

    Raises:
        RuntimeError: If an operation synchronises with the host.
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
    """Records passes until one cannot be recorded; then warns once and stops trying."""

    def __init__(self) -> None:
        self._works = True

    def of(self, action: Action) -> Action:
        """The replay of an action, or the action itself.

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
    """Repeats an action: first as it is, then recorded, then replayed.

    For each ``shape`` it must run the same operations on the same memory. Its work on the host is
    not repeated.
    """

    def __init__(self, action: Action, recording: Recording) -> None:
        self.action, self.recording = action, recording
        self._shape: Hashable = None
        self._again: Action | None = None

    def __call__(self, shape: Hashable) -> None:
        """Run the action; a change of ``shape`` records anew."""
        if shape != self._shape:
            # As it is: what libraries make ready at a first call cannot be recorded.
            self._shape, self._again = shape, None
            self.action()
            return
        if self._again is None:
            self._again = self.recording.of(self.action)
        self._again()
