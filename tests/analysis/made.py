"""Results made up for tests of what the report says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from pipeline.analysis.grades import CORRECT, grades_of
from pipeline.analysis.results import CellResult, Results, TrainedResult
from pipeline.analysis.signatures import CellSignature, cell_signatures
from pipeline.audit.records import Audit
from pipeline.config.params import Cell, Params, TrainedCell
from pipeline.data.card import BaseCard, DatasetCard, SetCard
from pipeline.data.origin import Origin, Portion, StudyOrigins
from pipeline.evaluate.records import Share, TaskScores
from pipeline.formats.records import Figures
from pipeline.model.manifest import StoredModel


def scores(accuracy: float, by_order: Mapping[str, float] | None = None) -> TaskScores:
    """The scores of 100 questions."""
    orders = {order: share(found) for order, found in (by_order or {}).items()}
    return TaskScores(
        **dict(share(accuracy)),
        format_rate=1.0,
        length_mean=10.0,
        length_median=10.0,
        unfinished=0,
        prompts_too_long=0,
        by_order=orders,
        by_question_type={},
    )


def share(accuracy: float) -> Share:
    """So many of 100 answers."""
    return Share(
        count=100,
        correct=round(100 * accuracy),
        accuracy=accuracy,
        interval=(0.0, 1.0),
        strict_accuracy=accuracy,
    )


def result(
    key: str,
    cell: Cell,
    tasks: dict[str, TaskScores],
    side_check: dict[str, TaskScores],
    curve: list[Figures],
    best: float,
) -> CellResult:
    """The result of a cell; ``best`` is the validation accuracy of its best step."""
    if not isinstance(cell, TrainedCell):
        return CellResult(key, cell, tasks, side_check)
    stored = StoredModel(step=2, digest=64 * "0", validation_accuracy=best)
    return TrainedResult(
        key=key,
        cell=cell,
        tasks=tasks,
        side_check=side_check,
        curve=curve,
        checkpoints={"best": stored},
    )


def place_questions(*orders: int) -> Origin:
    """Ten questions of each order about places, in ten stories of one structure for each order."""
    return Origin(
        rows=10 * len(orders),
        portions=[
            Portion(
                source="hi_tom_style",
                task="hi_tom_style",
                generator="hi_tom",
                telling="brief",
                asked="place, span",
                order=order,
                rows=10,
            )
            for order in orders
        ],
        stories={},
        structures={f"structure {order}": 10 for order in orders},
        unread=0,
    )


def origins(params: Params) -> StudyOrigins:
    """Training sets of the orders 0 to 2, and columns of the orders that they select."""
    columns = {name: place_questions(*(c.orders or ())) for name, c in params.suite.tasks.items()}
    return StudyOrigins(
        columns=columns, training=dict.fromkeys(params.dataset, place_questions(0, 1, 2))
    )


def results_of(params: Params, cells: dict[str, CellResult], audit: Audit) -> Results:
    """Results of a study whose base model was shown the orders 0 to 3."""
    shown = place_questions(0, 1, 2, 3)
    card = DatasetCard(
        split="by-story",
        prompt="compact",
        licences={},
        licence_note=None,
        stories_shared={},
        sets={"train": SetCard.of([], place_questions(0))},
    )
    bases = {"nano": base_card("nano", shown)}
    return Results(params, cells, audit, {"hi": card}, origins(params), {"nano": shown}, bases)


def base_card(model: str, shown: Origin | None) -> BaseCard:
    """The card of a base model."""
    return BaseCard(model=model, note="", shown=None if shown is None else SetCard.of([], shown))


def signed(results: Results) -> tuple[Results, list[CellSignature]]:
    """Results with their signatures, as findings and verdicts take them."""
    return results, cell_signatures(results)


def grades(column: str, values: Sequence[float], figure: str = CORRECT) -> pd.DataFrame:
    """A value of each question of a column, each about a story of its own."""
    named = {f"q{place}": value for place, value in enumerate(values)}
    return grades_of(column, figure, named, {name: name for name in named})
