"""A study file as a whole."""

from __future__ import annotations

from pydantic import Field

from pipeline.config.algorithms import Algorithm, AlgorithmName, with_defaults
from pipeline.config.data import Audit, Dataset, Suite
from pipeline.config.evaluation import Evaluate, SideCheck
from pipeline.config.models import Base
from pipeline.config.section import Key, Listed, Section, Seed, Text, Threads
from pipeline.config.sources import Source
from pipeline.config.training import StudyTrain


class Grid(Section):
    """Which cells the study has: the product of these lists."""

    models: Listed[str] = Field(min_length=1)
    combinations: Listed[str] = Field(min_length=1)
    algorithms: Listed[AlgorithmName] = Field(min_length=1)
    seeds: Listed[Seed] = Field(default=(0,), min_length=1)
    evaluate_only: Listed[str] = ()


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
    audit: Audit = Audit()
    base: Base
    train: StudyTrain
    evaluate: Evaluate
    gsm8k: SideCheck
    grid: Grid

    def algorithm(self, name: AlgorithmName) -> Algorithm:
        """Return an algorithm of the grid with the study's settings, else its defaults."""
        return self.train.algorithms.get(name) or with_defaults(name)
