"""Sampling settings, without the slow imports of decoding."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sampling:
    """Sampling settings: temperature 0 is greedy, ``top_p`` the nucleus of tokens."""

    max_new_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
