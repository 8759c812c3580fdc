"""Where data comes from: published files, stories of the belief engine, arithmetic."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.config.section import Fraction, OneOrMore, Positive, Rows, Section, Seed


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
        pairs: Pairs of stories that differ in one event, with their questions.
        proof: What the pairs stand up to: ``contrast`` leaves out questions that one simple rule
            answers right on both stories; ``any`` keeps all.
        structures: ``apart`` gives training, validation and test stories that differ in structure
            (their events up to names) as well; ``any`` draws each set for itself.
        trace: What a demonstration reasons: ``beliefs`` states that of every inner chain before
            the one asked about; ``recount`` tells who saw or heard of each place, then the belief;
            ``walk`` says after each line of a recount what is believed by then; ``track`` is a walk
            that also says of everybody, in each line, whether they are there.
        seed: Seed of all draws.
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


class HiTomSource(StorySource):
    """Hi-ToM-style stories: agents enter, move an object, leave, and may lie about it.

    Attributes:
        agents: Agents in a story.
        chapters: Chapters of a story; of several values each story draws one.
        tell: Whether chapters may end with claims; of several values each story draws one.
        noise: Probability of a distractor before each sentence.
        structure: ``upstream`` keeps to the chapters of the upstream generator; ``free`` is one
            scene in which agents act, leave and come back in any order.
    """

    kind: Literal["hi_tom_style"]
    telling: Literal["benchmark", "prose", "log", "brief"] = "benchmark"  # type: ignore[assignment]
    agents: Annotated[int, Field(ge=2, le=5)] = 5
    chapters: OneOrMore[Annotated[int, Field(ge=1, le=3)]] = (1,)
    tell: OneOrMore[bool] = (False,)
    noise: Fraction = 0.0
    structure: Literal["upstream", "free"] = "upstream"

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
        train: Problems to train on.
        test: Problems to test on.
        largest: The largest number that is added or subtracted.
        held_out: Test on pairs of numbers that are in no other problem; else on any, so that the
            test tells whether sums once learned are still known.
        seed: Seed of all draws.
    """

    kind: Literal["arithmetic"]
    train: Rows = 0
    test: Annotated[Rows, Field(ge=1)]
    largest: Positive = 9
    held_out: bool = True
    seed: Seed = 0


def source_name(kind: str, telling: str) -> str:
    """The name under which tasks find a generated source; ``brief`` has no own name."""
    return kind if telling in ("benchmark", "brief") else f"{kind}_{telling}"


GeneratedSource = HiTomSource | ExploreTomSource | FantomSource
Source = Annotated[UpstreamSource | GeneratedSource | ArithmeticSource, Field(discriminator="kind")]
