"""Where data comes from: published files, stories of the belief engine, arithmetic."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pipeline.config.section import Fraction, OneOrMore, Positive, Section


class UpstreamSource(Section):
    """Published files, downloaded or taken from the mirror, verified by digest."""

    kind: Literal["upstream"]


class StorySource(Section):
    """Stories and questions from the belief engine, split by story.

    Attributes:
        telling: The surface style: the benchmark's own words, two other styles, or (Hi-ToM only)
            ``brief`` for tiny models. Another telling than the benchmark's is part of the
            source's name: ``hi_tom_style_prose``.
        small_names: Draw from small pools of names, so that a tiny vocabulary suffices.
        train: Stories to train on.
        validation: Stories to validate on.
        test: Stories to test on.
        seed: Seed of all draws.
    """

    telling: Literal["benchmark", "prose", "log"] = "benchmark"
    small_names: bool = False
    train: int = Field(default=0, ge=0)
    validation: int = Field(default=0, ge=0)
    test: int = Field(default=0, ge=0)
    seed: int = 0


class HiTomSource(StorySource):
    """Hi-ToM-style stories: agents enter, move an object, leave, and may lie about it.

    Attributes:
        agents: Agents in a story.
        chapters: Chapters of a story; of several values each story draws one.
        tell: Whether chapters may end with claims; of several values each story draws one.
        noise: Probability of a distractor before each sentence.
    """

    kind: Literal["hi_tom_style"]
    telling: Literal["benchmark", "prose", "log", "brief"] = "benchmark"  # type: ignore[assignment]
    agents: Annotated[int, Field(ge=2, le=5)] = 5
    chapters: OneOrMore[Annotated[int, Field(ge=1, le=3)]] = (1,)
    tell: OneOrMore[bool] = (False,)
    noise: Fraction = 0.0


class TomiSource(StorySource):
    """ToMi-style stories, labelled by a plain reading."""

    kind: Literal["tomi_style"]
    noise: bool = True


class ExploreTomSource(StorySource):
    """ExploreToM-style stories."""

    kind: Literal["explore_tom_style"]
    story_type: str = "tomi"
    people: Annotated[int, Field(ge=2, le=4)] = 3
    moves: Annotated[int, Field(ge=1, le=4)] = 3


class FantomSource(StorySource):
    """FANToM-style conversations with information asymmetry."""

    kind: Literal["fantom_style"]
    people: Annotated[int, Field(ge=3, le=5)] = 3
    told: Annotated[int, Field(ge=2, le=4)] = 2
    full_context: bool = False


class OpenTomSource(StorySource):
    """OpenToM-style narratives."""

    kind: Literal["opentom_style"]


class ArithmeticSource(Section):
    """Generated arithmetic word problems (not GSM8K)."""

    kind: Literal["arithmetic"]
    train: int = Field(default=0, ge=0)
    test: Positive
    largest: Positive = 9
    seed: int = 0


GeneratedSource = HiTomSource | TomiSource | ExploreTomSource | FantomSource | OpenTomSource
Source = Annotated[UpstreamSource | GeneratedSource | ArithmeticSource, Field(discriminator="kind")]
