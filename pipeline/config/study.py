"""A study file as a whole."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from pipeline.config.algorithms import Algorithm, AlgorithmName, with_defaults
from pipeline.config.arms import Arm
from pipeline.config.data import AuditSettings, Dataset, Suite
from pipeline.config.evaluation import Evaluate
from pipeline.config.models import Base
from pipeline.config.section import Key, Listed, Section, Seed, Text, Threads
from pipeline.config.sources import Source
from pipeline.config.training import StudyTrain


class StudyGrid(Section):
    """Which cells the study has: every model with every combination, arm and seed.

    Attributes:
        models: Models that are trained.
        combinations: Training data.
        algorithms: Algorithms, each an arm of its own; give this or ``arms``.
        arms: Ways to train by name, where they differ in more than the algorithm.
        seeds: Seeds.
        repeated: What differs between seeds: the ``rollouts`` and the order of the data; or
            ``everything``, also the base model, if it is a tiny one, and which rows are drawn.
        evaluate_only: Models that are evaluated and not trained.
    """

    models: Listed[str] = Field(min_length=1)
    combinations: Listed[str] = Field(min_length=1)
    algorithms: Listed[AlgorithmName] = ()
    arms: dict[Key, Arm] = Field(default={})
    seeds: Listed[Seed] = Field(default=(0,), min_length=1)
    repeated: Literal["rollouts", "everything"] = "rollouts"
    evaluate_only: Listed[str] = ()

    @model_validator(mode="after")
    def _one_list_of_arms(self) -> StudyGrid:
        if bool(self.algorithms) == bool(self.arms):
            raise ValueError("give exactly one of algorithms and arms, and name at least one there")
        return self


class Study(Section):
    """One study: a complete description of an experiment."""

    name: Key
    title: Text
    paper: Text | None = None
    seed: Seed = 0
    threads: Threads = 2
    acquire: dict[Key, Source]
    dataset: Dataset
    suite: Suite
    audit: AuditSettings = AuditSettings()
    base: Base
    train: StudyTrain
    evaluate: Evaluate
    grid: StudyGrid

    def algorithm(self, name: AlgorithmName) -> Algorithm:
        """An algorithm of the grid with the study's settings, else its defaults."""
        return self.train.algorithms.get(name) or with_defaults(name)

    @property
    def arms(self) -> dict[str, Arm]:
        """The ways to train by name."""
        if self.grid.arms:
            return self.grid.arms
        names = self.grid.algorithms
        return {name.replace("_", "-"): Arm(algorithm=self.algorithm(name)) for name in names}

    def data_of(self, arm: Arm) -> tuple[str, ...]:
        """The combinations that an arm trains on."""
        return arm.combinations or self.grid.combinations
