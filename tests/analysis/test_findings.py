"""What the report says of the numbers: collapse and inverted difficulty, when and only when."""

from __future__ import annotations

from dataclasses import replace

from pipeline.analysis.findings import findings
from pipeline.analysis.results import CellResult, Results
from pipeline.analysis.table import cells_of, markdown
from pipeline.audit.records import Audit, Baselines, Best, ColumnAudit
from pipeline.config.expand import expand
from pipeline.config.params import ApiCell
from pipeline.config.study_files import find_study
from pipeline.data.card import DatasetCard, SetCard
from pipeline.records import Figures
from tests.analysis.made import result, scores
from tests.conftest import PROJECT


def study(order_3: float, lengths: list[float]) -> Results:
    params = expand(find_study(PROJECT, "mini"))
    keys = [key for key in params.cells if key.startswith("nano")]
    params = params.model_copy(update={"cells": {key: params.cells[key] for key in keys}})
    curve: list[Figures] = [{"step": 0, "validation_accuracy": 0.4}]
    curve += [
        {"step": step, "length_median": length, "accuracy": step / 100, "format_rate": 1.0}
        for step, length in enumerate(lengths, 1)
    ]
    cells = {
        key: result(
            key,
            params.cells[key],
            {
                "hi_tom_orders_0_2": scores(0.6, {"0": 0.9, "1": 0.5, "2": 0.4}),
                "hi_tom_order_3": scores(order_3, {"3": order_3}),
            },
            {"arithmetic": scores(0.5)},
            curve,
            best=0.6,
        )
        for key in keys
    }
    rules = Baselines.model_construct(best=Best(rule="last", accuracy=0.55))
    column = ColumnAudit.model_construct(baselines=rules)
    audit = Audit.model_construct(
        columns={"hi_tom_orders_0_2": column, "hi_tom_order_3": column}, leakage={}
    )
    return Results(params, cells, audit, {"hi": trained_on("0", "1", "2")})


def trained_on(*orders: str) -> DatasetCard:
    train = SetCard.model_construct(orders=dict.fromkeys(orders, 1))
    return DatasetCard.model_construct(sets={"train": train})


def test_inverted_difficulty_is_reported_when_it_is_there() -> None:
    sentences = findings(study(order_3=0.7, lengths=[20.0] * 20))
    assert any("inverted difficulty: order 3, never trained, scores 70.0%" in s for s in sentences)
    sentences = findings(study(order_3=0.3, lengths=[20.0] * 20))
    assert not any("inverted difficulty" in s for s in sentences)


def test_an_order_that_was_trained_is_not_inverted() -> None:
    results = study(order_3=0.7, lengths=[20.0] * 20)
    cards = {"hi": trained_on("0", "1", "2", "3")}
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


def test_a_model_that_was_not_run_is_in_the_table_as_absent() -> None:
    results = study(order_3=0.3, lengths=[20.0] * 20)
    base = results.cells["nano-base"].cell
    api = ApiCell(**{**base.model_dump(exclude={"kind"}), "model": "gpt", "title": "GPT"})
    why = "GPT is behind an address"
    cells = {**results.cells, "gpt-base": CellResult("gpt-base", api, {}, {}, absent=why)}
    results = replace(results, cells=cells)
    rows = [row for row in results.rows() if row.cell == "gpt-base"]
    assert [row.task for row in rows] == ["hi_tom_orders_0_2", "hi_tom_order_3", "arithmetic"]
    assert {(row.base, row.trained, row.absent) for row in rows} == {(None, None, why)}
    assert cells_of(rows[0])[:6] == ("GPT", "-", "hi_tom_orders_0_2 *", "absent", "-", "-")
    assert f"gpt-base: absent: {why}." in findings(results)
    assert "absent" in markdown(results)
