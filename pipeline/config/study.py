"""A study file as a whole, and what it names without defining it."""

from __future__ import annotations

from pydantic import Field

from pipeline.config.algorithms import AlgorithmName
from pipeline.config.data import Audit, Dataset, Suite
from pipeline.config.evaluation import Evaluate, SideCheck
from pipeline.config.models import Base
from pipeline.config.section import Key, Positive, Section
from pipeline.config.sources import Source
from pipeline.config.training import StudyTrain


class Grid(Section):
    """Which cells the study has: the product of these lists."""

    models: tuple[str, ...] = Field(min_length=1)
    combinations: tuple[str, ...] = Field(min_length=1)
    algorithms: tuple[AlgorithmName, ...] = Field(min_length=1)
    seeds: tuple[int, ...] = (0,)
    evaluate_only: tuple[str, ...] = ()


class Study(Section):
    """One study: a complete description of an experiment."""

    name: Key
    title: str
    paper: str | None = None
    seed: int = 0
    threads: Positive = 2
    acquire: dict[Key, Source]
    dataset: Dataset
    suite: Suite
    audit: Audit = Audit()
    base: Base
    train: StudyTrain
    evaluate: Evaluate
    gsm8k: SideCheck
    grid: Grid


def reference_mistakes(content: object) -> list[str]:
    """Return what a study file's content names without defining it.

    Works on unvalidated content, so that these mistakes are reported together with all others.
    """
    models, combinations = _at(content, "base", "models"), _at(content, "dataset", "combinations")
    checks = [
        ("grid.models", _at(content, "grid", "models"), models),
        ("grid.evaluate_only", _at(content, "grid", "evaluate_only"), models),
        ("grid.combinations", _at(content, "grid", "combinations"), combinations),
    ]
    algorithms = _at(content, "grid", "algorithms")
    given = _at(content, "train", "algorithms")
    if isinstance(algorithms, list) and isinstance(given, dict):
        checks.append(("train.algorithms", list(given), dict.fromkeys(map(str, algorithms))))
    columns = _at(content, "suite", "tasks")
    checks.append(("dataset.probe.columns", _at(content, "dataset", "probe", "columns"), columns))
    for key in columns if isinstance(columns, dict) else ():
        trained = _at(columns, key, "trained")
        checks.append((f"suite.tasks.{key}.trained", trained, combinations))
    mistakes = []
    for field, used, allowed in checks:
        if isinstance(used, list) and isinstance(allowed, dict):
            names = [str(name) for name in allowed]
            wrong = [name for name in used if name not in names]
            mistakes += [f"{field}: found {n!r}; allowed: {', '.join(names)}" for n in wrong]
    return mistakes + _misnamed_sources(_at(content, "acquire"))


def _at(content: object, *path: str) -> object:
    for name in path:
        content = content.get(name) if isinstance(content, dict) else None
    return content


def _misnamed_sources(sources: object) -> list[str]:
    """Tasks find generated sources by name, so the name follows from kind and telling."""
    mistakes = []
    for key, source in sources.items() if isinstance(sources, dict) else ():
        kind, telling = _at(source, "kind"), _at(source, "telling") or "benchmark"
        suffix = "" if telling in ("benchmark", "brief") else f"_{telling}"
        if kind != "upstream" and isinstance(kind, str) and key != kind + suffix:
            mistakes.append(f"acquire.{key}: found the name {key!r}; allowed: {kind}{suffix}")
    return mistakes
