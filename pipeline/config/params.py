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
    """What every stage may know of the study."""

    name: Key
    title: Text
    paper: Text | None = None
    seed: Seed
    threads: Threads


class DatasetEntry(Section):
    """One combination, fully resolved.

    Attributes:
        imitated: What supervised training on it imitates; its training rows hold these responses.
    """

    seed: Seed
    split: Split
    prompt: TrainingPrompt
    licence_note: str | None
    train: Listed[Part]
    validation: Listed[Part]
    imitated: Listed[Imitated] = ()


class BaseEntry(Section):
    """One base model, fully resolved; tiny models carry the recipe of their demonstrations.

    Attributes:
        inputs: What it is made from: the training data, whose words a tiny model's tokenizer must
            know, or the folder that holds one shipped with the project; for all others nothing but
            the code, which dvc.yaml names anyway.
    """

    model: Model
    seed: Seed
    inputs: str
    stories: Listed[Annotated[GeneratedSource, Field(discriminator="kind")]] = ()
    sums: ArithmeticSource | None = None


class CellBase(Section):
    """What every cell has.

    Attributes:
        model: Key of the model in ``base``.
        title: What tables show for the model.
        seed: Seed of data order, rollouts and sampled answers.
        base: Manifest of the base model.
        inputs: Folder that training reads: the data, or the base model where nothing is trained.
        evaluate: How the cell is evaluated.
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
    """The training of a cell that trains nothing: ``dvc.yaml`` asks every cell for it."""

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
        group: Key of the cell without its seed: the same for cells that differ in nothing else.
        combination: Key of the training data in ``dataset``.
        algorithm: What it is trained with.
        train: The recipe.
        starts_from: Key of the cell whose weights it starts from; None for those of the base model.
        keeps: Whether the weights of every step that it saves are kept, to be asked.
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
        of: Key of the cell whose model it is.
        combination: As there.
        algorithm: As there.
    """

    kind: Literal["asked"] = "asked"
    of: Key
    combination: str | None = None
    algorithm: Algorithm | None = None
    train: Untrained = Untrained()


Cell = BaseCell | ApiCell | TrainedCell | AskedCell


def before(cell: Cell) -> str | None:
    """Key of the cell whose weights a cell takes; None for those of the base model."""
    match cell:
        case TrainedCell():
            return cell.starts_from
        case AskedCell():
            return cell.of
        case _:
            return None


AnyCell = Annotated[Cell, Field(discriminator="kind")]
"""A cell as pydantic reads one of any kind."""


class Params(Section):
    """What ``params.yaml`` says: one mapping per stage, one entry per DVC stage instance."""

    study: StudyInfo
    acquire: dict[Key, Source]
    dataset: dict[Key, DatasetEntry]
    suite: Suite
    audit: AuditSettings
    base: dict[Key, BaseEntry]
    cells: dict[Key, AnyCell]

    def cell(self, key: str) -> Cell:
        """A cell.

        Raises:
            UserError: If there is no such cell; lists those there are.
        """
        return lookup(self.cells, key, f"study {self.study.name}: cell")

    def weights_before(self, cell: Cell) -> str:
        """The folder of the weights that a cell's training starts from, in the checkout.

        What trains nothing has them among its inputs.
        """
        first = cell.starts_from if isinstance(cell, TrainedCell) else None
        return f"weights/{self.study.name}/{first or f'base/{cell.model}'}"

    def chain(self, cell: Cell) -> tuple[TrainedCell, ...]:
        """The trainings that a cell's model went through, the first one first."""
        own = (cell,) if isinstance(cell, TrainedCell) else ()
        first = before(cell)
        return own if first is None else (*self.chain(self.cells[first]), *own)

    def trained_cell(self, key: str) -> TrainedCell:
        """A cell that trains.

        Raises:
            UserError: If it does not exist or trains nothing; lists those that do.
        """
        cell = self.cell(key)
        if not isinstance(cell, TrainedCell):
            names = ", ".join(k for k, c in self.cells.items() if isinstance(c, TrainedCell))
            raise UserError(f"cell {key} trains nothing; choose one of: {names}")
        return cell
