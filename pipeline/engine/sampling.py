"""How tokens are chosen; apart from what chooses them, which takes seconds to import."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sampling:
    """How tokens are chosen.

    Attributes:
        max_new_tokens: Longest completion in tokens.
        temperature: 0 takes the most likely token.
        top_p: Nucleus: the smallest set of tokens with at least this probability.
    """

    max_new_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
