"""What ``params.yaml`` holds: one entry per stage instance, fully resolved."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pipeline.config.data import Audit, Part, PromptStyle, Split, Suite
from pipeline.config.evaluation import Evaluate, SideCheck
from pipeline.config.lookup import lookup
from pipeline.config.models import Model
from pipeline.config.section import Key, Positive, Section
from pipeline.config.sources import ArithmeticSource, GeneratedSource, Source
from pipeline.config.training import Algorithm, Train
from pipeline.errors import UserError


class StudyInfo(Section):
    """What every stage may know of the study."""

    name: Key
    title: str
    paper: str | None = None
    seed: int
    threads: Positive


class ProbeEntry(Section):
    """A probe with the suite's columns that it names, fully resolved."""

    limit: Positive
    columns: dict[Key, Part]


class DatasetEntry(Section):
    """One combination, fully resolved."""

    seed: int
    split: Split
    prompt: PromptStyle
    licence_note: str | None
    train: tuple[Part, ...]
    validation: tuple[Part, ...]
    probe: ProbeEntry | None = None


class BaseEntry(Section):
    """One base model, fully resolved; tiny models carry the recipe of their demonstrations."""

    model: Model
    seed: int
    stories: tuple[Annotated[GeneratedSource, Field(discriminator="kind")], ...] = ()
    sums: ArithmeticSource | None = None


class Cell(Section):
    """One model x combination x algorithm x seed, or a base or API model that trains nothing.

    Attributes:
        kind: ``trained``, ``base`` or ``api``.
        model: Key of the model in ``base``.
        title: What tables show for the model.
        combination: Key of the combination in ``dataset``; None for base and API cells.
        algorithm: None for base and API cells.
        seed: Seed of data order and rollouts.
        base: Manifest of the base model.
        inputs: Folder of the training data (of the base model, where nothing is trained).
        train: The recipe; None for base and API cells.
        evaluate: How the cell is evaluated.
        gsm8k: The mathematics side-check.
    """

    kind: Literal["trained", "base", "api"]
    model: str
    title: str
    combination: str | None
    algorithm: Algorithm | None
    seed: int
    base: str
    inputs: str
    train: Train | None
    evaluate: Evaluate
    gsm8k: SideCheck


class Params(Section):
    """The content of ``params.yaml``: one mapping per stage, one entry per DVC stage instance."""

    study: StudyInfo
    acquire: dict[Key, Source]
    dataset: dict[Key, DatasetEntry]
    suite: Suite
    audit: Audit
    base: dict[Key, BaseEntry]
    cells: dict[Key, Cell]

    def cell(self, key: str) -> Cell:
        """Return a cell.

        Raises:
            UserError: If there is no such cell; lists those there are.
        """
        return lookup(self.cells, key, f"params.yaml (study {self.study.name}): cell")

    def trained_cell(self, key: str) -> Cell:
        """Return a cell that trains.

        Raises:
            UserError: If it does not exist or trains nothing; lists those that do.
        """
        cell = self.cell(key)
        if cell.train is None:
            names = ", ".join(k for k, c in self.cells.items() if c.train is not None)
            raise UserError(f"cell {key} trains nothing; choose one of: {names}")
        return cell
