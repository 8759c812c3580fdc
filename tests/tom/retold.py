"""Stories of examples as recounts."""

from __future__ import annotations

from pipeline.tasks.example import Example
from pipeline.tom.retelling import Retold, retell


def retold_of(example: Example) -> Retold:
    """The true recount of an example that can be read."""
    found = retell(example.benchmark, example.story, example.question)
    assert found is not None
    return found
