"""What answering took in this run: loading and generating, each for itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter


@dataclass
class Effort:
    """What an engine has done; answers that an earlier run left behind are no part of it.

    Attributes:
        tokens: Tokens that were generated.
        seconds: Time they took, without loading.
        load_seconds: Time until the model was ready.
    """

    tokens: int = 0
    seconds: float = 0.0
    load_seconds: float = 0.0

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Count the time of a block as loading."""
        started = perf_counter()
        yield
        self.load_seconds += perf_counter() - started

    @contextmanager
    def generating(self) -> Iterator[None]:
        """Count the time of a block as generating; its tokens are counted by who has them."""
        started = perf_counter()
        yield
        self.seconds += perf_counter() - started

    def add(self, tokens: int = 0, seconds: float = 0.0, load_seconds: float = 0.0) -> None:
        """Add what was measured elsewhere."""
        self.tokens += tokens
        self.seconds += seconds
        self.load_seconds += load_seconds

    def figures(self) -> dict[str, float]:
        """It for ``timing.jsonl``; what was not done has no figure."""
        found: dict[str, float] = {}
        if self.load_seconds:
            found["load_seconds"] = self.load_seconds
        if self.tokens and self.seconds:
            found["generated_tokens"] = self.tokens
            found["generation_seconds"] = self.seconds
            found["tokens_per_second"] = self.tokens / self.seconds
        return found
