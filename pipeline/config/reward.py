"""The reward that training pays: the name of a preset, or that with its own settings."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Tag

from pipeline.config.section import Fraction, Section, known
from pipeline.plugins import REWARDS


class PlainReward(Section):
    """A preset without settings.

    Attributes:
        preset: Its name, see :data:`pipeline.plugins.REWARDS`.
        reads_stories: Whether it judges responses by the story, too.
    """

    preset: str
    reads_stories: ClassVar[bool] = False


class FidelityReward(Section):
    """The answer and the beliefs that the reasoning states.

    Attributes:
        preset: Its name.
        weight: Weight of the reasoning against the answer.
    """

    preset: Literal["fidelity"]
    weight: Fraction = 0.5
    reads_stories: ClassVar[bool] = True


Settings = PlainReward | FidelityReward


def _named(content: object) -> object:
    """Give the bare name of a preset the form that one with settings has, and check the name."""
    if isinstance(content, str):
        content = {"preset": content}
    if isinstance(content, dict) and "preset" in content:
        known(content["preset"], REWARDS)
    return content


def _kind(content: object) -> str:
    """Return which settings a preset has."""
    found = content.get("preset") if isinstance(content, dict) else getattr(content, "preset", "")
    return "fidelity" if found == "fidelity" else "plain"


RewardSettings = Annotated[
    Annotated[PlainReward, Tag("plain")] | Annotated[FidelityReward, Tag("fidelity")],
    Discriminator(_kind),
    BeforeValidator(_named),
]
"""A preset with its settings; a study may write the bare name of one."""


def own_settings(reward: Settings) -> dict[str, float]:
    """Return the settings of a preset beside its name."""
    return {n: getattr(reward, n) for n in type(reward).model_fields if n != "preset"}
