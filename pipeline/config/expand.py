"""From a study to its cells."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import TypeGuard

from pipeline.config.data import Part
from pipeline.config.models import ApiModel, TinyModel
from pipeline.config.params import (
    ApiCell,
    BaseCell,
    BaseEntry,
    Cell,
    DatasetEntry,
    Params,
    ProbeEntry,
    StudyInfo,
    TrainedCell,
)
from pipeline.config.sources import ArithmeticSource, GeneratedSource, Source
from pipeline.config.study import Study


def expand(study: Study) -> Params:
    """Resolve a study into one entry per stage instance."""
    return Params(
        study=StudyInfo(
            name=study.name,
            title=study.title,
            paper=study.paper,
            seed=study.seed,
            threads=study.threads,
        ),
        acquire=study.acquire,
        dataset={key: _dataset_entry(study, key) for key in _used_combinations(study)},
        suite=study.suite,
        audit=study.audit,
        base={key: _base_entry(study, key) for key in _used_models(study)},
        cells=dict([*_base_cells(study), *_trained_cells(study)]),
    )


def _used_models(study: Study) -> list[str]:
    return list(dict.fromkeys([*study.grid.models, *study.grid.evaluate_only]))


def _used_combinations(study: Study) -> list[str]:
    return list(dict.fromkeys(study.grid.combinations))


def _dataset_entry(study: Study, key: str) -> DatasetEntry:
    data, combination = study.dataset, study.dataset.combinations[key]
    return DatasetEntry(
        seed=study.seed,
        split=data.split,
        prompt=data.prompt,
        licence_note=data.licence_note,
        train=combination.train,
        validation=combination.validation,
        probe=_probe_entry(study),
    )


def _probe_entry(study: Study) -> ProbeEntry | None:
    probe = study.dataset.probe
    if probe is None:
        return None
    columns = {name: study.suite.tasks[name] for name in probe.columns}
    parts = {name: Part(**c.model_dump(exclude={"trained"})) for name, c in columns.items()}
    return ProbeEntry(limit=probe.limit, columns=parts)


def _base_entry(study: Study, key: str) -> BaseEntry:
    model = study.base.models[key]
    if not isinstance(model, TinyModel):
        return BaseEntry(model=model, seed=study.seed, inputs=f"code/base-{model.kind}.json")
    return BaseEntry(
        model=model,
        seed=study.seed if model.seed is None else model.seed,
        inputs=f"models/{model.shipped}" if model.shipped else f"data/{study.name}/combos",
        stories=tuple(s for s in study.acquire.values() if is_demonstrated(s)),
        sums=next((s for s in study.acquire.values() if isinstance(s, ArithmeticSource)), None),
    )


def is_demonstrated(source: Source) -> TypeGuard[GeneratedSource]:
    """Return whether the warm start draws demonstrations of its own from this kind of source."""
    return isinstance(source, GeneratedSource) and source.train > 0


def _base_cells(study: Study) -> Iterable[tuple[str, Cell]]:
    for key in _used_models(study):
        model, evaluate = study.base.models[key], study.evaluate
        folder = f"runs/{study.name}/base/{key}"
        is_api = isinstance(model, ApiModel)
        asked = {
            "engine": "openai" if is_api else evaluate.engine,
            "prompt": evaluate.base_prompt or evaluate.prompt,
            "base_prompt": None,
        }
        yield (
            f"{key}-base",
            (ApiCell if is_api else BaseCell)(
                model=key,
                title=model.title,
                seed=study.seed,
                base=f"{folder}/checkpoints.json",
                inputs=folder,
                evaluate=evaluate.model_copy(update=asked),
                gsm8k=study.gsm8k,
            ),
        )


def _trained_cells(study: Study) -> Iterable[tuple[str, Cell]]:
    grid = study.grid
    for model, combination, algorithm, seed in product(
        grid.models, grid.combinations, grid.algorithms, grid.seeds
    ):
        parts = [model, combination]
        parts += [algorithm.replace("_", "-")] if len(grid.algorithms) > 1 else []
        parts += [f"s{seed}"] if len(grid.seeds) > 1 else []
        yield (
            "-".join(parts),
            TrainedCell(
                model=model,
                title=study.base.models[model].title,
                combination=combination,
                algorithm=study.algorithm(algorithm),
                seed=seed,
                base=f"runs/{study.name}/base/{model}/checkpoints.json",
                inputs=f"data/{study.name}/combos/{combination}",
                train=study.train.recipe,
                evaluate=study.evaluate.model_copy(update={"base_prompt": None}),
                gsm8k=study.gsm8k,
            ),
        )
