"""What the report says of the numbers: collapse and inverted difficulty, when and only when."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pipeline.analysis.findings import findings
from pipeline.analysis.results import CellResult, Results
from pipeline.config.expand import expand
from pipeline.config.study_files import find_study
from tests.conftest import PROJECT


def scores(accuracy: float, by_order: dict[str, float]) -> dict[str, Any]:
    orders = {
        o: {"accuracy": a, "correct": round(100 * a), "count": 100} for o, a in by_order.items()
    }
    return {"accuracy": accuracy, "count": 100, "interval": [0, 1], "by_order": orders}


def study(order_3: float, lengths: list[float]) -> Results:
    params = expand(find_study(PROJECT, "mini"))
    keys = [key for key in params.cells if key.startswith("nano")]
    params = params.model_copy(update={"cells": {key: params.cells[key] for key in keys}})
    curve: list[dict[str, Any]] = [{"step": 0, "validation_accuracy": 0.4}]
    curve += [
        {"step": step, "length_median": length, "accuracy": step / 100, "format_rate": 1.0}
        for step, length in enumerate(lengths, 1)
    ]
    best = {"step": 10, "validation_accuracy": 0.6, "digest": ""}
    cells = {
        key: CellResult(
            key=key,
            cell=params.cells[key],
            curve=curve,
            checkpoints={"checkpoints": {"best": best}},
            tasks={
                "hi_tom_orders_0_2": scores(0.6, {"0": 0.9, "1": 0.5, "2": 0.4}),
                "hi_tom_order_3": scores(order_3, {"3": order_3}),
            },
            side_check={"arithmetic": scores(0.5, {})},
        )
        for key in keys
    }
    rule = {"baselines": {"best": {"rule": "last", "accuracy": 0.55}}}
    audit = {"columns": {"hi_tom_orders_0_2": rule, "hi_tom_order_3": rule}, "leakage": {}}
    cards = {"hi": {"sets": {"train": {"orders": {"0": 1, "1": 1, "2": 1}}}}}
    return Results(params, cells, audit, cards)


def test_inverted_difficulty_is_reported_when_it_is_there() -> None:
    sentences = findings(study(order_3=0.7, lengths=[20.0] * 20))
    assert any("inverted difficulty: order 3, never trained, scores 70.0%" in s for s in sentences)
    sentences = findings(study(order_3=0.3, lengths=[20.0] * 20))
    assert not any("inverted difficulty" in s for s in sentences)


def test_an_order_that_was_trained_is_not_inverted() -> None:
    results = study(order_3=0.7, lengths=[20.0] * 20)
    cards = {"hi": {"sets": {"train": {"orders": {"0": 1, "1": 1, "2": 1, "3": 1}}}}}
    assert not any("inverted" in s for s in findings(replace(results, cards=cards)))


def test_collapse_is_reported_when_it_is_there() -> None:
    collapsing = findings(study(order_3=0.3, lengths=[20.0] * 10 + [6.0] * 10))
    assert any("collapse" in s for s in collapsing)
    stable = findings(study(order_3=0.3, lengths=[20.0] * 20))
    assert not any("collapse" in s for s in stable)


def test_a_score_below_its_rule_is_called_so() -> None:
    sentences = findings(study(order_3=0.3, lengths=[20.0] * 20))
    assert any("hi_tom_order_3" in s and "does not beat the rule" in s for s in sentences)
    assert not any("hi_tom_orders_0_2" in s and "does not beat" in s for s in sentences)
