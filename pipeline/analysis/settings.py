"""The settings of a study by dotted place, as its file has them, and the figures that follow.

A place is what the study file calls it: ``train.rollouts``, ``evaluate.base_prompt``,
``dataset.combinations.hi.train``. ``figures`` holds what follows from several settings:

=============================  =====================================================================
``rows.train.COMBINATION``     training rows; ``rows.validation.COMBINATION`` alike
``parts.train.COMBINATION``    rows of each part of it, in the study's order
``orders.train.COMBINATION``   belief orders that its parts name
``rows.suite.COLUMN``          questions of a column
``steps.COMBINATION``          optimiser's batches from first to last
``responses_per_step``         prompts times completions
``models``                     titles of the models that are trained
``columns``                    number of columns, those of counterfactual pairs apart
=============================  =====================================================================

Where cells differ, the values of all stand in a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, JsonValue

from pipeline.config.data import Part
from pipeline.config.params import ApiCell, BaseCell, DatasetEntry, Params, TrainedCell
from pipeline.data.named_tasks import row_count
from pipeline.tasks import registry

Settings = dict[str, JsonValue]


class AbsentSetting:
    """What stands where nothing does; None is a value."""


MISSING = AbsentSetting()


def settings(params: Params) -> Settings:
    """All settings of a study and its figures, by section."""
    trained = [c for c in params.cells.values() if isinstance(c, TrainedCell)]
    others = [c for c in params.cells.values() if isinstance(c, BaseCell)]
    behind = [
        c for c in params.cells.values() if isinstance(c, ApiCell) and not c.evaluate.programs
    ]
    entries = params.dataset
    dataset = _common(entries.values(), without={"train", "validation"})
    return {
        "seed": params.study.seed,
        "acquire": {key: _plain(source) for key, source in params.acquire.items()},
        "dataset": {
            **dataset,
            "combinations": {
                key: {"train": _parts(entry.train), "validation": _parts(entry.validation)}
                for key, entry in entries.items()
            },
        },
        "suite": _plain(params.suite),
        "base": {"models": {key: _plain(entry.model) for key, entry in params.base.items()}},
        "train": {
            **_common([cell.train for cell in trained]),
            "algorithms": {c.algorithm.name: _plain(c.algorithm) for c in trained},
        },
        "evaluate": {
            **_common([cell.evaluate for cell in trained]),
            "base_prompt": _same([cell.evaluate.prompt for cell in others]),
            "behind_an_address": _common([cell.evaluate for cell in behind]),
        },
        "grid": {
            "models": _each(cell.model for cell in trained),
            "evaluate_only": _each(cell.model for cell in behind),
            "combinations": _each(cell.combination for cell in trained),
            "algorithms": _each(cell.algorithm.name for cell in trained),
            "seeds": _each(cell.seed for cell in trained),
        },
        "figures": _figures(params, trained),
    }


def value_at(found: JsonValue, place: str) -> JsonValue | AbsentSetting:
    """What stands at a dotted place, MISSING where nothing does."""
    for name in place.split("."):
        if isinstance(found, dict) and name in found:
            found = found[name]
        elif isinstance(found, list) and name.isdigit() and int(name) < len(found):
            found = found[int(name)]
        else:
            return MISSING
    return found


def _figures(params: Params, trained: Sequence[TrainedCell]) -> Settings:
    entries, recipes = params.dataset, {cell.combination: cell.train for cell in trained}
    rows = {key: _total(entry.train) for key, entry in entries.items()}
    return {
        "rows": {
            "train": {**rows},
            "validation": {key: _total(entry.validation) for key, entry in entries.items()},
            "suite": {key: row_count(column) for key, column in params.suite.columns.items()},
        },
        "parts": {"train": {k: [row_count(part) for part in e.train] for k, e in entries.items()}},
        "orders": {"train": {key: _orders(entry) for key, entry in entries.items()}},
        "steps": {k: recipes[k].total_steps(n) if n else None for k, n in rows.items()},
        "responses_per_step": _same(
            [cell.train.prompts_per_step * cell.train.rollouts for cell in trained]
        ),
        "models": _each(cell.title for cell in trained),
        "columns": sum(not asks_pairs(column) for column in params.suite.tasks.values()),
    }


def asks_pairs(column: Part) -> bool:
    """Whether a column asks counterfactual pairs: this project's own, beside what papers ask."""
    return "pair" in registry.get(column.task).fields


def _total(parts: Iterable[Part]) -> int | None:
    counts = [row_count(part) for part in parts]
    return None if None in counts else sum(count or 0 for count in counts)


def _orders(entry: DatasetEntry) -> JsonValue:
    """The orders that training parts name; of a part that names none, its task's."""
    parts = ((p.orders or registry.get(p.task).orders) for p in entry.train)
    return [*sorted({order for orders in parts for order in orders})]


def _parts(parts: Iterable[Part]) -> JsonValue:
    return [_plain(part) for part in parts]


def _plain(content: BaseModel | None) -> JsonValue:
    return None if content is None else dict(content.model_dump(mode="json"))


def _common(contents: Iterable[BaseModel], without: Iterable[str] = ()) -> Settings:
    dumped = [content.model_dump(mode="json", exclude={*without}) for content in contents]
    return {name: _same([each[name] for each in dumped]) for name in dumped[0]} if dumped else {}


def _same(values: Sequence[JsonValue]) -> JsonValue:
    """The value that all have; of several, each of them."""
    each = _each(values)
    return each[0] if isinstance(each, list) and len(each) == 1 else each


def _each(values: Iterable[JsonValue]) -> JsonValue:
    """The values, each once; unlike in a dictionary, they may be lists."""
    found: list[JsonValue] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found
