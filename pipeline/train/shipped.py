"""Base models shipped with the project: a folder each, with a card.

``models/NAME/`` holds ``card.json`` and ``model/``, the model in Hugging Face layout. A study
states the model's recipe, and a model of another recipe is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.base.errors import UserError
from pipeline.config.models import TinyModel
from pipeline.config.params import BaseEntry
from pipeline.formats.files import folder_digests
from pipeline.formats.provenance import Libraries
from pipeline.formats.records import UNREADABLE, Record

CARD, MODEL = "card.json", "model"


class ShippedCard(Record):
    """Provenance and content of a shipped model.

    Attributes:
        recipe: Shape, seed, warm start, and sources of its stories.
        processor: Machine and instruction set; others round differently.
        tokens: Size of its vocabulary.
        losses: Loss of each step of its warm start, to four digits.
        files: sha256 of each file of the model.
    """

    recipe: dict[str, Any]
    threads: int
    processor: list[str]
    libraries: Libraries
    parameters: int
    tokens: int
    losses: tuple[float, ...]
    files: dict[str, str]


def recipe_of(entry: BaseEntry) -> dict[str, Any]:
    """The study-independent recipe of a model: all but names and amounts of data."""
    assert isinstance(entry.model, TinyModel)
    amounts = {"train", "validation", "test", "pairs", "proof"}
    return {
        "size": entry.model.size,
        "seed": entry.seed,
        "warm_start": entry.model.warm_start.model_dump(mode="json"),
        "stories": [source.model_dump(mode="json", exclude=amounts) for source in entry.stories],
        "sums": entry.sums and entry.sums.model_dump(mode="json", exclude=amounts),
    }


def read_card(folder: Path) -> ShippedCard:
    try:
        return ShippedCard.model_validate_json((folder / CARD).read_bytes())
    except UNREADABLE as error:
        why = "is not there" if isinstance(error, FileNotFoundError) else "cannot be read"
        raise UserError(
            f"{folder / CARD} {why}; restore the folder with git, or make the model with: "
            f"tomrl models make {folder.name}"
        ) from None


def check(folder: Path, entry: BaseEntry) -> ShippedCard:
    """The card of a shipped model; UserError if it does not match study or files."""
    card, stated = read_card(folder), recipe_of(entry)
    if different := list(_differences("", card.recipe, stated)):
        raise UserError(
            f"model {folder.name} was made otherwise than the study says: "
            f"{'; '.join(different[:5])}. Change the study, or make the model again with: "
            f"tomrl models make {folder.name}"
        )
    if folder_digests(folder / MODEL) != card.files:
        raise UserError(
            f"{folder / MODEL} does not hold the files that its card names; restore the folder "
            f"with git, or make the model with: tomrl models make {folder.name}"
        )
    return card


def _differences(place: str, made: Any, stated: Any) -> list[str]:
    """Differences of two recipes, as ``warm_start.steps is 900, the study says 800``."""
    if isinstance(made, dict) and isinstance(stated, dict):
        keys = dict.fromkeys([*made, *stated])
        inner = [(f"{place}.{k}".lstrip("."), made.get(k), stated.get(k)) for k in keys]
        return [line for part in inner for line in _differences(*part)]
    if isinstance(made, list) and isinstance(stated, list) and len(made) == len(stated):
        both = enumerate(zip(made, stated, strict=True))
        return [line for i, (a, b) in both for line in _differences(f"{place}.{i}", a, b)]
    return [] if made == stated else [f"{place} is {made!r}, the study says {stated!r}"]
