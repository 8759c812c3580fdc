"""Whether the published results of a paper name what the study has that re-runs it."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.base.errors import UserError
from pipeline.config.params import Params, TrainedCell
from pipeline.config.published import FOLDER, PaperRecord, PublishedFigure, PublishedTable
from pipeline.formats.plural import counted
from pipeline.tasks import registry

_WAY_OUT = "correct it, or say in not_run why not"


def checked_tables(params: Params, record: PaperRecord) -> tuple[PublishedTable, ...]:
    """The published results of a record.

    Raises:
        UserError: With every figure that names a model, training set, column or order that the
            study does not have, unless it says why it is not run.
    """
    if mistakes := [f"\n  - {text}" for text in _mistakes(record, params)]:
        path = f"{FOLDER}/{params.study.name}.yaml"
        raise UserError(f"{path} has {counted(len(mistakes), 'mistake')}:{''.join(mistakes)}")
    return record.tables


def _mistakes(found: PaperRecord, params: Params) -> Iterator[str]:
    for table in found.tables:
        for figure in table.figures:
            if (figure.not_run or table.not_run) is None or figure.model not in params.base:
                for text in _unlike(figure, params):
                    yield f"{table.name}, value {figure.value:g}: {text}"


def _unlike(figure: PublishedFigure, params: Params) -> Iterator[str]:
    """Yield what a figure names and the study does not have."""
    if figure.model not in params.base:
        there = ", ".join(params.base)
        yield f"model: found {figure.model!r}; allowed: {there}"
        return
    cells = [c for c in params.cells.values() if c.model == figure.model]
    if figure.is_trained:
        trained = [c for c in cells if isinstance(c, TrainedCell)]
        named = [c for c in trained if figure.combination in (None, c.combination)]
        arms = dict.fromkeys(c.group for c in named)
        if not named:
            there = ", ".join(dict.fromkeys(c.combination for c in trained)) or "none"
            yield f"combination: found {figure.combination!r}; allowed: {there}; {_WAY_OUT}"
        elif figure.combination is not None and len(arms) > 1:
            ways = ", ".join(arms)
            yield f"combination: {figure.combination!r} is trained in several ways: {ways}"
    columns = params.suite.columns
    for column in figure.column:
        orders = _orders(params, column)
        if column not in columns:
            yield f"column: found {column!r}; allowed: {', '.join(columns)}; {_WAY_OUT}"
        elif figure.order is not None and figure.order not in orders:
            there = ", ".join(map(str, orders)) or "none"
            yield f"order: found {figure.order}; allowed: those of {column}: {there}; {_WAY_OUT}"


def _orders(params: Params, column: str) -> tuple[int, ...]:
    asked = params.suite.columns.get(column)
    return () if asked is None else asked.orders or registry.get(asked.task).orders
