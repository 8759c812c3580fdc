"""Manifests: the records (``checkpoints.json``) that name models by the digest of their files."""

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
    """A model that a stage left in ``weights/``.

    Attributes:
        step: The training step that its weights come from; 0 for a base model.
        digest: Of its folder.
        validation_accuracy: Of the weights of the best step, where steps were validated.
    """

    step: int
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    validation_accuracy: float | None = Field(default=None, exclude_if=_absent)


class Manifest(RecordOfModel):
    """The checkpoints of a model. What a kind of model lacks is left out of the file.

    Attributes:
        format: Of the weights.
        use: The role that later stages evaluate.
        checkpoints: Base models have ``base``, trained ones ``best`` and ``last``.
        kept: Weights of every saved step, in order, where the study asks for them.
        skipped_prompts: Training prompts that were too long, or had nothing to imitate.
        parameters: Number of weights of a base model.
        repository: Where a published model comes from.
        revision: The commit of the repository.
        files: sha256 of each published file, where its host knows it.
        dropped: Keys of the published configuration that the stored one lacks.
        libraries: Versions of what made a base model.
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
        """The checkpoint that later stages evaluate."""
        return self.checkpoints[self.use]

    @model_validator(mode="after")
    def _has_what_is_used(self) -> Self:
        needed = {"base"} if self.use == "base" else {"best", "last"}
        if set(self.checkpoints) != needed:
            raise ValueError(f"checkpoints: {', '.join(self.checkpoints) or 'none'}")
        return self


class ApiManifest(RecordOfModel):
    """A model behind an address: it has no weights here.

    Attributes:
        api: Its name at the address.
        address: Of the server, up to ``/v1``.
        key: The environment variable that holds the key; None for a server that asks for none.
        prompt_price: Dollars for a million tokens of prompts; None where the study names no price.
        completion_price: The same of completions.
    """

    api: str
    address: str
    key: str | None
    prompt_price: float | None
    completion_price: float | None


class RecordedManifest(RecordOfModel):
    """Answers that were recorded in place of a model.

    Attributes:
        answers: The file that holds them, from the checkout on.
        sha256: Of the file.
    """

    answers: str
    sha256: str


ServedManifest = ApiManifest | RecordedManifest

SERVED_BY: Mapping[str, type[ServedManifest]] = MappingProxyType(
    {"openai": ApiManifest, "replay": RecordedManifest}
)
"""What stands in for weights, by the engine that asks it."""

NO_WEIGHTS = "This model is behind an address, or recorded: checkpoints.json says where."
"""What stands in place of weights that are not here."""


def resolve(path: Path, weights: WeightsFolder, model: str) -> Path:
    """The folder of the checkpoint that a model's manifest says to use.

    Raises:
        UserError: If the manifest is missing or damaged, or the weights absent or altered.
    """
    return weights.get(Manifest.read_of(path, model, weights.made_by).used.digest)
