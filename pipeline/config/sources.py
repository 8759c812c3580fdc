"""Data sources: published files, generated stories, arithmetic."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.config.section import Fraction, OneOrMore, Positive, Rows, Section, Seed, Text


class UpstreamSource(Section):
    """Published files, downloaded or mirrored, verified by digest."""

    kind: Literal["upstream"]


class StorySource(Section):
    """Generated stories and questions, split by story.

    Attributes:
        telling: Surface style: the benchmark's own words, two other styles, or (Hi-ToM only)
            ``brief`` for tiny models. Other styles are part of the source's name:
            ``hi_tom_style_prose``.
        small_names: Draw from small pools of names, so that a tiny vocabulary suffices.
        pairs: Pairs of stories that differ in one event, with their questions.
        proof: ``contrast`` leaves out questions that one simple rule answers right on both stories;
            ``any`` keeps all.
        structures: ``apart`` separates training, validation and test by structure (events up to
            names) as well; ``any`` draws each set independently.
        trace: Reasoning of demonstrations: ``beliefs`` states those of all inner chains;
            ``recount`` tells who learned of each place, then the belief; ``walk`` adds the belief
            after each line; ``track`` is a walk that also states everybody's presence in each line.
    """

    telling: Literal["benchmark", "prose", "log"] = "benchmark"
    small_names: bool = False
    train: Rows = 0
    validation: Rows = 0
    test: Rows = 0
    pairs: Rows = 0
    proof: Literal["any", "contrast"] = "any"
    structures: Literal["any", "apart"] = "any"
    trace: Literal["beliefs", "recount", "walk", "track"] = "beliefs"
    seed: Seed = 0


class FoundStories(Section):
    """Stories that ``tomrl attack`` has found, pinned.

    Attributes:
        file: Its JSON lines, relative to the checkout.
        sha256: Of the file, so that other stories are another dataset.
    """

    file: Text
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class HiTomSource(StorySource):
    """Hi-ToM-style stories: agents enter, move an object, leave, and may lie about it.

    Attributes:
        chapters: Number of chapters; each story draws one of several values.
        tell: Chapters may end with claims; each story draws one of several values.
        noise: Probability of a distractor before each sentence.
        structure: ``upstream`` follows the upstream generator's chapters; ``free`` is one scene
            with events in any order.
        found: Stories to train on, as ``hi_tom_style_found``.
    """

    kind: Literal["hi_tom_style"]
    telling: Literal["benchmark", "prose", "log", "brief"] = "benchmark"  # type: ignore[assignment]
    agents: Annotated[int, Field(ge=2, le=5)] = 5
    chapters: OneOrMore[Annotated[int, Field(ge=1, le=3)]] = (1,)
    tell: OneOrMore[bool] = (False,)
    noise: Fraction = 0.0
    structure: Literal["upstream", "free"] = "upstream"
    found: FoundStories | None = Field(default=None, exclude_if=lambda found: found is None)

    @model_validator(mode="after")
    def _free_is_one_scene(self) -> HiTomSource:
        if self.structure == "free" and self.chapters != (1,):
            raise ValueError(
                f"chapters is {list(self.chapters)}, and structure is free; allowed with it: 1"
            )
        return self


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


class ArithmeticSource(Section):
    """Generated arithmetic word problems (not GSM8K).

    Attributes:
        largest: Largest operand.
        held_out: Test on unseen pairs of numbers; else on any, as a test of retention.
    """

    kind: Literal["arithmetic"]
    train: Rows = 0
    test: Annotated[Rows, Field(ge=1)]
    largest: Positive = 9
    held_out: bool = True
    seed: Seed = 0


def source_name(kind: str, telling: str) -> str:
    """The name under which tasks find a generated source; ``brief`` is not part of it."""
    return kind if telling in ("benchmark", "brief") else f"{kind}_{telling}"


GeneratedSource = HiTomSource | ExploreTomSource | FantomSource
Source = Annotated[UpstreamSource | GeneratedSource | ArithmeticSource, Field(discriminator="kind")]
