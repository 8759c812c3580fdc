"""Chat messages."""

from __future__ import annotations

Messages = list[dict[str, str]]
"""Each message has a ``role`` and its ``content``."""
