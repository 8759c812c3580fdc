"""A request to stop, which long work asks about where it can leave off."""

from __future__ import annotations

import signal


class StopRequest:
    """Turns SIGTERM and Ctrl-C into a question; a second request does not wait for an answer."""

    def __init__(self) -> None:
        self._asked = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)

    def _ask(self, *_: object) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True

    def requested(self) -> bool:
        """Whether a stop was asked for."""
        return self._asked
