"""Resolving a study into one entry per stage instance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from types import MappingProxyType
from typing import TypeGuard

from pipeline.config.algorithms import Imitated, Sft
from pipeline.config.arms import Arm
from pipeline.config.chains import start_data
from pipeline.config.models import ApiModel, FolderModel, GgufModel, RecordedModel, TinyModel
from pipeline.config.params import (
    ApiCell,
    AskedCell,
    BaseCell,
    BaseEntry,
    Cell,
    DatasetEntry,
    Params,
    StudyInfo,
    TrainedCell,
)
from pipeline.config.sources import ArithmeticSource, GeneratedSource, Source
from pipeline.config.study import Study


def expand(study: Study) -> Params:
    return Params(
        study=StudyInfo(
            name=study.name,
            title=study.title,
            paper=study.paper,
            seed=study.seed,
            threads=study.threads,
        ),
        acquire=study.acquire,
        dataset={key: _dataset_entry(study, *of) for key, of in _used_combinations(study).items()},
        suite=study.suite,
        audit=study.audit,
        base={key: _base_entry(study, *of) for key, of in _used_models(study).items()},
        cells=_cells(study),
    )


def _cells(study: Study) -> dict[str, Cell]:
    cells = dict([*_base_cells(study), *_trained_cells(study)])
    cells |= dict(_program_cells(study, cells))
    if not study.evaluate.crossed:
        return cells
    asked = (_crossed(study, key, cell) for key, cell in cells.items())
    return cells | {f"{cell.of}-crossed": cell for cell in asked if cell is not None}


def _program_cells(study: Study, cells: Mapping[str, Cell]) -> Iterable[tuple[str, Cell]]:
    """Yield a cell for each prompt program of each base model, but for recorded answers."""
    for (key, cell), (name, program) in product(cells.items(), study.evaluate.programs.items()):
        asked = {"programs": {name: program}, "samples": 1, "tried": 0, "scoring": "answers"}
        if isinstance(cell, BaseCell):
            yield f"{key}-{name}", _asked_again(study, key, cell, **asked)
        elif cell.evaluate.engine == _SERVED_BY[ApiModel]:
            evaluate = cell.evaluate.model_copy(update=asked)
            yield f"{key}-{name}", cell.model_copy(update={"evaluate": evaluate})


def _crossed(study: Study, key: str, cell: Cell) -> AskedCell | None:
    """A second cell that asks a cell's model with the other prompt; None behind an address."""
    other = study.evaluate.base_prompt if isinstance(cell, TrainedCell) else study.evaluate.prompt
    if not isinstance(cell, BaseCell | TrainedCell) or other is None:
        return None
    return _asked_again(study, key, cell, prompt=other, at="used")


def _asked_again(study: Study, key: str, cell: Cell, **differently: object) -> AskedCell:
    """A cell that asks the model of another one in another way."""
    trained = f"runs/{study.name}/{key}/train"
    return AskedCell(
        of=key,
        model=cell.model,
        title=cell.title,
        combination=cell.combination,
        algorithm=cell.algorithm,
        seed=cell.seed,
        base=f"{trained}/checkpoints.json",
        inputs=f"weights/{study.name}/{key}",
        evaluate=cell.evaluate.model_copy(update=differently),
    )


def _repeats_everything(study: Study) -> bool:
    return study.grid.repeated == "everything"


def _used_models(study: Study) -> dict[str, tuple[str, int]]:
    """(model, seed) by base entry."""
    grid = study.grid
    trained = {
        _model_key(study, model, seed): (model, seed if _repeats_everything(study) else study.seed)
        for model, seed in product(grid.models, grid.seeds)
    }
    return {**trained, **{model: (model, study.seed) for model in grid.evaluate_only}}


def _model_key(study: Study, model: str, seed: int) -> str:
    own = _repeats_everything(study) and isinstance(study.base.models[model], TinyModel)
    return f"{model}-s{seed}" if own else model


def _used_combinations(study: Study) -> dict[str, tuple[str, int]]:
    """(combination, seed of its rows) by dataset entry."""
    return {
        _data_key(study, combination, seed): (
            combination,
            seed if _repeats_everything(study) else study.seed,
        )
        for combination, seed in product(study.grid.combinations, study.grid.seeds)
    }


def _data_key(study: Study, combination: str, seed: int) -> str:
    return f"{combination}-s{seed}" if _repeats_everything(study) else combination


def _dataset_entry(study: Study, key: str, seed: int) -> DatasetEntry:
    data, combination = study.dataset, study.dataset.combinations[key]
    return DatasetEntry(
        seed=seed,
        split=data.split,
        prompt=data.prompt,
        licence_note=data.licence_note,
        train=combination.train,
        validation=combination.validation,
        imitated=_imitated(study, key),
    )


def _imitated(study: Study, key: str) -> tuple[Imitated, ...]:
    found = (each.algorithm for each in study.arms.values() if key in study.data_of(each))
    return tuple(sorted({each.imitates for each in found if isinstance(each, Sft)}))


def _base_entry(study: Study, key: str, seed: int) -> BaseEntry:
    model = study.base.models[key]
    if isinstance(model, RecordedModel):
        return BaseEntry(model=model, seed=study.seed, inputs=model.answers)
    if isinstance(model, FolderModel | GgufModel):
        inputs = model.path if isinstance(model, FolderModel) else model.file
        return BaseEntry(model=model, seed=study.seed, inputs=inputs)
    if not isinstance(model, TinyModel):
        return BaseEntry(model=model, seed=study.seed, inputs=f"code/base-{model.kind}.json")
    if _repeats_everything(study):
        shipped = model.shipped and f"{model.shipped}-{seed}"
        model = model.model_copy(update={"seed": seed, "shipped": shipped})
    return BaseEntry(
        model=model,
        seed=seed if model.seed is None else model.seed,
        inputs=f"models/{model.shipped}" if model.shipped else f"data/{study.name}/combos",
        stories=tuple(_drawn(s) for s in study.acquire.values() if is_demonstrated(s)),
        sums=next((s for s in study.acquire.values() if isinstance(s, ArithmeticSource)), None),
    )


def _drawn(source: GeneratedSource) -> GeneratedSource:
    """A source without what a search found, which no base model is shown."""
    return source.model_copy(update={"found": None}) if source.kind == "hi_tom_style" else source


def is_demonstrated(source: Source) -> TypeGuard[GeneratedSource]:
    return isinstance(source, GeneratedSource) and source.train > 0


_SERVED_BY: Mapping[type, str] = MappingProxyType({ApiModel: "openai", RecordedModel: "replay"})


def _base_cells(study: Study) -> Iterable[tuple[str, Cell]]:
    for key, (name, _) in _used_models(study).items():
        model, evaluate = study.base.models[name], study.evaluate
        folder = f"runs/{study.name}/base/{key}"
        engine = _SERVED_BY.get(type(model))
        asked: dict[str, object] = {
            "engine": engine or evaluate.engine,
            "prompt": evaluate.base_prompt or evaluate.prompt,
            "base_prompt": None,
            "crossed": False,
            "programs": {},
            "at": "used",
        }
        yield (
            f"{key}-base",
            (ApiCell if engine else BaseCell)(
                model=key,
                title=model.title,
                seed=study.seed,
                base=f"{folder}/checkpoints.json",
                inputs=folder,
                evaluate=evaluate.model_copy(update=asked),
            ),
        )


def _trained_cells(study: Study) -> Iterable[tuple[str, Cell]]:
    grid, arms = study.grid, study.arms
    for model, combination, name, seed in product(grid.models, grid.combinations, arms, grid.seeds):
        arm, data = arms[name], _data_key(study, combination, seed)
        if combination not in study.data_of(arm):
            continue
        base = _model_key(study, model, seed)
        think = arm.own.get("think", study.evaluate.think)
        asked: dict[str, object] = {
            "base_prompt": None,
            "crossed": False,
            "programs": {},
            "think": think,
        }
        group = _group(study, model, combination, name)
        first = _start(study, arm, combination)
        start = None if first is None else _seeded(study, _group(study, model, *first), seed)
        yield (
            _seeded(study, group, seed),
            TrainedCell(
                model=base,
                title=study.base.models[model].title,
                group=group,
                combination=data,
                algorithm=arm.algorithm,
                seed=seed,
                base=f"runs/{study.name}/{f'{start}/train' if start else f'base/{base}'}/"
                "checkpoints.json",
                starts_from=start,
                inputs=f"data/{study.name}/combos/{data}",
                train=arm.applied_to(study.train.recipe),
                evaluate=study.evaluate.model_copy(update=asked),
                keeps=study.evaluate.at == "all",
            ),
        )


def _group(study: Study, model: str, combination: str, arm: str) -> str:
    return "-".join([model, combination, *([arm] if len(study.arms) > 1 else [])])


def _seeded(study: Study, group: str, seed: int) -> str:
    return f"{group}-s{seed}" if len(study.grid.seeds) > 1 else group


def _start(study: Study, arm: Arm, combination: str) -> tuple[str, str] | None:
    """(data, arm) of the cell that a cell starts from; None for the base model."""
    if arm.starts_from is None:
        return None
    first, named = arm.starts_from.arm, arm.starts_from.combination
    data = start_data(combination, named, study.data_of(study.arms[first]))
    assert data is not None  # else the study is refused
    return data, first
