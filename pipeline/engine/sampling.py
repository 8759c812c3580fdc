"""Sampling settings, without the slow imports of decoding."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sampling:
    """Sampling settings; ``max_new_tokens`` per completion.

    Attributes:
        temperature: 0 takes the most likely token.
        top_p: Nucleus: the smallest set of tokens with at least this probability.
    """

    max_new_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
