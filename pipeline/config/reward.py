"""The reward that training pays: the name of a preset, or that with its own settings.

Training pays strict matches. A preset that pays a benchmark's published rule instead needs the
reason why, as what that rule can be won by is not what a study means to teach.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Tag

from pipeline.base.plugins import CONTROLS, REWARDS
from pipeline.config.section import Fraction, Section, Text, known

LENIENT = ("tom-rl",)
"""The presets that pay a published rule."""


class PlainReward(Section):
    """A strict preset without settings.

    Attributes:
        preset: Its name, see :data:`pipeline.base.plugins.REWARDS` and ``CONTROLS``.
    """

    preset: str


class FidelitySettings(Section):
    """The answer and the beliefs that the reasoning states.

    Attributes:
        preset: Its name.
        weight: Weight of the reasoning against the answer.
    """

    preset: Literal["fidelity"]
    weight: Fraction = 0.5


class PublishedReward(Section):
    """A preset that pays a published rule, which may be won by more than right answers.

    Attributes:
        preset: Its name, one of :data:`LENIENT`.
        published: Why the study trains with it.
    """

    preset: str
    published: Text


Settings = PlainReward | FidelitySettings | PublishedReward


def _named(content: object) -> object:
    """Give the bare name of a preset the form that one with settings has, and check the name.

    Raises:
        ValueError: If a preset pays a published rule and nobody says why, or the other way round.
    """
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
    """Which settings a preset has."""
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
"""A preset with its settings; a study may write the bare name of one."""


def own_settings(reward: Settings) -> dict[str, float]:
    """The settings of a preset beside its name and the reason for it."""
    named = ("preset", "published")
    return {n: getattr(reward, n) for n in type(reward).model_fields if n not in named}
