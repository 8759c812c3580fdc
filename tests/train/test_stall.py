"""The alarm when all advantages are zero until the end."""

from __future__ import annotations

from pipeline.formats.records import Figures
from pipeline.train.stall import Stall, find_stall


def rows(*spreads: float) -> list[Figures]:
    """A curve, with the base model's row before it."""
    found: list[Figures] = [{"step": 0, "validation_accuracy": 0.5}]
    return found + [
        {"step": step, "advantage_std": spread, "accuracy": step / 10}
        for step, spread in enumerate(spreads, 1)
    ]


def test_training_that_goes_on_or_has_no_advantages_is_no_stall() -> None:
    assert find_stall(rows(0.5, 0, 0, 0, 0.1)) is None
    assert find_stall(rows(0.5, 0, 0)) is None, "two steps may be chance"
    assert find_stall(rows()) is None


def test_the_step_from_which_on_nothing_is_learned_is_named() -> None:
    assert find_stall(rows(0.5, 0, 0.1, 0, 0, 0)) == Stall(step=4, accuracy=0.5)
    assert "stall at step 4" in Stall(4, 0.5).describe()
    assert "50% of the answers right" in Stall(4, 0.5).describe()
