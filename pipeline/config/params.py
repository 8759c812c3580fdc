"""The parameters of a study, resolved: one entry for each stage instance."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from pipeline.base.errors import UserError
from pipeline.config.algorithms import Algorithm, Imitated
from pipeline.config.arms import recipe_mistakes
from pipeline.config.data import AuditSettings, Part, Split, Suite, TrainingPrompt
from pipeline.config.evaluation import Evaluate
from pipeline.config.lookup import lookup
from pipeline.config.mistakes import Mistaken
from pipeline.config.models import Model
from pipeline.config.section import Key, Listed, Section, Seed, Text, Threads
from pipeline.config.sources import ArithmeticSource, GeneratedSource, Source
from pipeline.config.training import Train


class StudyInfo(Section):
    """Facts about the study that every stage may use."""

    name: Key
    title: Text
    paper: Text | None = None
    seed: Seed
    threads: Threads


class DatasetEntry(Section):
    """One combination, resolved.

    Attributes:
        imitated: Targets of supervised training, which its training rows hold.
    """

    seed: Seed
    split: Split
    prompt: TrainingPrompt
    licence_note: str | None
    train: Listed[Part]
    validation: Listed[Part]
    imitated: Listed[Imitated] = ()


class BaseEntry(Section):
    """One base model, resolved; tiny models have the recipe of their demonstrations.

    Attributes:
        inputs: The training data, whose words a tiny model's tokenizer must know, or the folder of
            a model shipped with the project; for all others the code, which dvc.yaml names anyway.
    """

    model: Model
    seed: Seed
    inputs: str
    stories: Listed[Annotated[GeneratedSource, Field(discriminator="kind")]] = ()
    sums: ArithmeticSource | None = None


class CellBase(Section):
    """Fields of every cell.

    Attributes:
        title: The model in tables.
        base: Manifest of the base model.
        inputs: Folder that training reads: the data, or the base model without training.
    """

    model: str
    title: Text
    seed: Seed
    base: str
    inputs: str
    evaluate: Evaluate


class NoReward(Section):
    """Nothing is rewarded."""

    preset: Literal["none"] = "none"


class Untrained(Section):
    """The training of a cell without training: ``dvc.yaml`` has one for every cell."""

    backend: Literal["none"] = "none"
    reward: NoReward = NoReward()


class BaseCell(CellBase):
    """A base model as it is."""

    kind: Literal["base"] = "base"
    combination: None = None
    algorithm: None = None
    train: Untrained = Untrained()


class ApiCell(CellBase):
    """A model behind an address, or its recorded answers: evaluated, never trained."""

    kind: Literal["api"] = "api"
    combination: None = None
    algorithm: None = None
    train: Untrained = Untrained()


class TrainedCell(CellBase):
    """One model x combination x arm x seed.

    Attributes:
        group: Key of the cell without its seed.
        combination: Key of the training data in ``dataset``.
        starts_from: Key of the cell whose weights it starts from, if not the base model.
        keeps: Keep the weights of every saved step for evaluation.
    """

    kind: Literal["trained"] = "trained"
    group: Key
    combination: str
    algorithm: Algorithm
    train: Train
    starts_from: Key | None = Field(default=None, exclude_if=lambda key: key is None)
    keeps: bool = Field(default=False, exclude_if=lambda keeps: not keeps)

    @model_validator(mode="after")
    def _its_algorithm_can(self) -> TrainedCell:
        if found := [m.within("train") for m in recipe_mistakes(self.train, self.algorithm)]:
            raise Mistaken(found)
        return self


class AskedCell(CellBase):
    """The model of another cell, asked with another prompt; it trains nothing.

    Attributes:
        of: Key of that cell, also for ``combination`` and ``algorithm``.
    """

    kind: Literal["asked"] = "asked"
    of: Key
    combination: str | None = None
    algorithm: Algorithm | None = None
    train: Untrained = Untrained()


Cell = BaseCell | ApiCell | TrainedCell | AskedCell


def before(cell: Cell) -> str | None:
    """Key of the cell whose weights a cell takes; None for the base model."""
    match cell:
        case TrainedCell():
            return cell.starts_from
        case AskedCell():
            return cell.of
        case _:
            return None


AnyCell = Annotated[Cell, Field(discriminator="kind")]
"""A discriminated union."""


class Params(Section):
    """The content of ``params.yaml``: one mapping per stage, one entry per DVC stage instance."""

    study: StudyInfo
    acquire: dict[Key, Source]
    dataset: dict[Key, DatasetEntry]
    suite: Suite
    audit: AuditSettings
    base: dict[Key, BaseEntry]
    cells: dict[Key, AnyCell]

    def cell(self, key: str) -> Cell:
        return lookup(self.cells, key, f"study {self.study.name}: cell")

    def weights_before(self, cell: Cell) -> str:
        """The folder of the initial weights, relative to the checkout."""
        first = cell.starts_from if isinstance(cell, TrainedCell) else None
        return f"weights/{self.study.name}/{first or f'base/{cell.model}'}"

    def crossed(self) -> dict[str, str]:
        """By cell, the one in which its model is asked with the other prompt."""
        return {
            cell.of: key
            for key, cell in self.cells.items()
            if isinstance(cell, AskedCell) and not cell.evaluate.programs
        }

    def chain(self, cell: Cell) -> tuple[TrainedCell, ...]:
        """The successive trainings of a cell's model, the first one first."""
        own = (cell,) if isinstance(cell, TrainedCell) else ()
        first = before(cell)
        return own if first is None else (*self.chain(self.cells[first]), *own)

    def trained_cell(self, key: str) -> TrainedCell:
        """A cell with training, or a UserError with the keys of those."""
        cell = self.cell(key)
        if not isinstance(cell, TrainedCell):
            names = ", ".join(k for k, c in self.cells.items() if isinstance(c, TrainedCell))
            raise UserError(f"cell {key} trains nothing; choose one of: {names}")
        return cell
