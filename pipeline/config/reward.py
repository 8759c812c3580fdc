"""The reward of training: a preset's name, or the preset with settings.

Training pays strict matches. A preset that pays a benchmark's published rule needs a reason, as
such rules can be gamed.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Tag

from pipeline.base.plugins import CONTROLS, REWARDS
from pipeline.config.section import Fraction, Section, Text, known

LENIENT = ("tom-rl",)
"""Presets that pay a published rule."""


class PlainReward(Section):
    """A strict preset without settings: :data:`pipeline.base.plugins.REWARDS` or ``CONTROLS``."""

    preset: str


class FidelitySettings(Section):
    """Reward of the answer and of the beliefs stated in the reasoning, with the latter's weight."""

    preset: Literal["fidelity"]
    weight: Fraction = 0.5


class PublishedReward(Section):
    """A preset that pays a published rule, which wrong answers may win, and the reason for it."""

    preset: str
    published: Text


Settings = PlainReward | FidelitySettings | PublishedReward


def _named(content: object) -> object:
    """Expand the bare name of a preset; ValueError if a reason is missing or superfluous."""
    if isinstance(content, str):
        content = {"preset": content}
    if isinstance(content, dict) and "preset" in content:
        _check_reason(str(known(content["preset"], (*REWARDS, *CONTROLS))), "published" in content)
    return content


def _check_reason(preset: str, given: bool) -> None:
    if preset in LENIENT and not given:
        raise ValueError(
            f"the preset {preset!r} pays a published rule that more than right answers win; write "
            f"{{preset: {preset}, published: WHY}}, or choose a strict one, such as "
            f"'{preset}-strict'"
        )
    if given and preset not in LENIENT:
        raise ValueError(
            f"the preset {preset!r} is strict, so there is no published rule to give a reason for; "
            f"remove published, or choose one of: {', '.join(LENIENT)}"
        )


def _kind(content: object) -> str:
    found = content.get("preset") if isinstance(content, dict) else getattr(content, "preset", "")
    if found in LENIENT:
        return "published"
    return "fidelity" if found == "fidelity" else "plain"


RewardSettings = Annotated[
    Annotated[PlainReward, Tag("plain")]
    | Annotated[FidelitySettings, Tag("fidelity")]
    | Annotated[PublishedReward, Tag("published")],
    Discriminator(_kind),
    BeforeValidator(_named),
]
"""A preset with its settings, or its bare name."""


def own_settings(reward: Settings) -> dict[str, float]:
    """The settings of a preset, without its name and reason."""
    named = ("preset", "published")
    return {n: getattr(reward, n) for n in type(reward).model_fields if n not in named}
