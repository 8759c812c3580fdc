"""A chat: what is said to a model, by whom."""

from __future__ import annotations

Messages = list[dict[str, str]]
"""Each message has a ``role`` and its ``content``."""
