"""Manifests: the records (``checkpoints.json``) that identify models by digest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from pipeline.formats.provenance import Libraries
from pipeline.formats.records import Record, RecordOfModel
from pipeline.formats.weights import WeightsFolder

Role = Literal["base", "best", "last"]


def _absent(value: object) -> bool:
    return value is None


class StoredModel(Record):
    """A model that a stage left in ``weights/``; ``step`` is 0 for a base model.

    ``validation_accuracy`` is that of the best step, where steps were validated.
    """

    step: int
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    validation_accuracy: float | None = Field(default=None, exclude_if=_absent)


class Manifest(RecordOfModel):
    """The checkpoints of a model; inapplicable fields are left out of the file.

    Attributes:
        use: The checkpoint that later stages evaluate.
        checkpoints: Base models have ``base``, trained ones ``best`` and ``last``.
        kept: Weights of every saved step, in order, on request of the study.
        skipped_prompts: Training prompts that were too long, or had nothing to imitate.
        files: sha256 of each published file, where known.
        dropped: Keys of the published configuration that the stored one lacks.
    """

    format: Literal["safetensors"] = "safetensors"
    use: Role
    checkpoints: dict[Role, StoredModel]
    kept: tuple[StoredModel, ...] = Field(default=(), exclude_if=lambda kept: not kept)
    skipped_prompts: int | None = Field(default=None, exclude_if=_absent)
    parameters: int | None = Field(default=None, exclude_if=_absent)
    repository: str | None = Field(default=None, exclude_if=_absent)
    revision: str | None = Field(default=None, exclude_if=_absent)
    files: dict[str, str | None] | None = Field(default=None, exclude_if=_absent)
    dropped: list[str] | None = Field(default=None, exclude_if=_absent)
    libraries: Libraries | None = Field(default=None, exclude_if=_absent)

    @property
    def used(self) -> StoredModel:
        return self.checkpoints[self.use]

    @model_validator(mode="after")
    def _has_what_is_used(self) -> Self:
        needed = {"base"} if self.use == "base" else {"best", "last"}
        if set(self.checkpoints) != needed:
            raise ValueError(f"checkpoints: {', '.join(self.checkpoints) or 'none'}")
        return self


class ApiManifest(RecordOfModel):
    """A model behind an address, without weights here.

    Attributes:
        api: Its name at the address.
        key: Environment variable of the key, if the server needs one.
        prompt_price: Dollars per million prompt tokens, if known.
        completion_price: Dollars per million completion tokens, if known.
    """

    api: str
    address: str
    key: str | None
    prompt_price: float | None
    completion_price: float | None


class RecordedManifest(RecordOfModel):
    """Recorded answers in place of a model: file, relative to the checkout, and digest."""

    answers: str
    sha256: str


ServedManifest = ApiManifest | RecordedManifest

SERVED_BY: Mapping[str, type[ServedManifest]] = MappingProxyType(
    {"openai": ApiManifest, "replay": RecordedManifest}
)
"""Manifests of models without weights, by engine."""

NO_WEIGHTS = "This model is behind an address, or recorded: checkpoints.json says where."
"""A note in place of absent weights."""


def resolve(path: Path, weights: WeightsFolder, model: str) -> Path:
    return weights.get(Manifest.read_of(path, model, weights.made_by).used.digest)
