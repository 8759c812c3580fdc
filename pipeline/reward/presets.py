"""Reward presets by name, each in a module loaded on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from pipeline.base.errors import UserError
from pipeline.base.plugins import CONTROLS, REWARDS
from pipeline.config.reward import RewardSettings, own_settings
from pipeline.reward.reward import Preset, Reward
from pipeline.tasks import registry
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade

_NOTHING = Grade(correct=False, strict=False, format_ok=False, extracted=None)
_TOO_LATE = "its answer could not be judged in time, and counts as wrong"


def load_preset(name: str, settings: Mapping[str, float] | None = None) -> Preset:
    """A preset of :data:`pipeline.base.plugins.REWARDS` or ``CONTROLS``, with its settings."""
    there = {**REWARDS, **CONTROLS}
    if name not in there:
        raise UserError(f"unknown reward preset {name!r}; there are: {', '.join(there)}")
    kind = cast(Callable[..., Preset], there[name].load())
    return kind(**(settings or {}))


def preset_of(reward: RewardSettings) -> Preset:
    return load_preset(reward.preset, own_settings(reward))


def reward(preset: Preset, response: str, example: Example) -> Reward:
    """Grade a response (the text after the pre-filled ``<think>``) and return its reward."""
    grade = registry.get(example.task).grade(response, example)
    error = _TOO_LATE if grade.too_late else None
    earned = preset(grade, example, response)
    return Reward(earned, grade, preset.is_right(grade), error)


def safe_reward(preset: Preset, response: str, example: Example) -> Reward:
    """The reward; where grading raises, that of an empty response, with the error."""
    try:
        return reward(preset, response, example)
    except UserError:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        return Reward(preset.least, _NOTHING, error=why)
