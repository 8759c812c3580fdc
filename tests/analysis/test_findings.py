"""What the report says of the numbers: collapse, rules and rewards, when and only when."""

from __future__ import annotations

from dataclasses import replace

from pipeline.analysis.figures.scores import accuracy_by_order as draw_accuracy_by_order
from pipeline.analysis.findings import accuracy_by_order, findings
from pipeline.analysis.results import CellResult, Results
from pipeline.analysis.table import cells_of, lines_of, markdown, notes_on
from pipeline.audit.records import (
    Audit,
    Baselines,
    Best,
    ColumnAudit,
    Won,
    WonWithoutAnswer,
)
from pipeline.config.data import Suite
from pipeline.config.expand import expand
from pipeline.config.params import ApiCell, Cell, TrainedCell
from pipeline.config.reward import PublishedReward
from pipeline.config.study_files import find_study
from pipeline.evaluate.records import OptionScores, PairScores
from pipeline.formats.records import Figures
from tests.analysis.made import base_card, result, results_of, scores, share, signed
from tests.conftest import TINY


def study(order_3: float, lengths: list[float]) -> Results:
    params = expand(find_study(TINY, "mini"))
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
    return results_of(params, cells, audit)


def test_no_order_is_pooled_over_tasks() -> None:
    results = study(order_3=0.3, lengths=[20.0] * 20)
    columns = results.params.suite.tasks
    other = columns["hi_tom_order_3"].model_copy(update={"task": "opentom_fullness_fo"})
    tasks = {**columns, "fullness": other}
    params = results.params.model_copy(update={"suite": Suite(tasks=tasks)})
    cells = {
        key: replace(cell, tasks={**cell.tasks, "fullness": scores(0.1, {"1": 0.1, "3": 0.1})})
        for key, cell in results.cells.items()
    }
    results = replace(results, params=params, cells=cells)
    found = accuracy_by_order(results, results.cells["nano-hi"])
    assert found == {
        "hi_tom_style": {"0": 0.9, "1": 0.5, "2": 0.4, "3": 0.3},
        "opentom_fullness_fo": {"1": 0.1, "3": 0.1},
    }
    figure = draw_accuracy_by_order(results)
    assert figure is not None
    titles = [axis.get_title() for axis in figure.axes if axis.axison]
    assert titles == ["nano: hi_tom_style", "nano: opentom_fullness_fo"]


def test_collapse_is_reported_when_it_is_there() -> None:
    collapsing = findings(*signed(study(order_3=0.3, lengths=[20.0] * 10 + [6.0] * 10)))
    assert any("collapse" in s for s in collapsing)
    stable = findings(*signed(study(order_3=0.3, lengths=[20.0] * 20)))
    assert not any("collapse" in s for s in stable)


def test_scores_below_their_rules_are_told_in_one_sentence() -> None:
    sentences = findings(*signed(study(order_3=0.3, lengths=[20.0] * 20)))
    (told,) = (s for s in sentences if "does not beat a fixed rule on" in s)
    assert "hi_tom_order_3 (30.0% against" in told and "hi_tom_orders_0_2" not in told


def test_a_reward_that_pays_a_published_rule_is_told_with_what_wins_it() -> None:
    results = study(order_3=0.3, lengths=[20.0] * 20)
    assert not any("published rule" in sentence for sentence in findings(*signed(results)))
    reward = PublishedReward(preset="tom-rl", published="A re-run.")
    cells = {
        key: replace(found, cell=with_reward(found.cell, reward))
        for key, found in results.cells.items()
    }
    won = WonWithoutAnswer(
        constant=Won(what="tin", published=0.3, strict=0.25),
        strict_constant=Won(what="tin", published=0.3, strict=0.25),
        cheats=[Won(what="yes and no", published=0.5, strict=0.0)],
    )
    audit = results.audit.model_copy(update={"training": {"hi": won}})
    assert findings(*signed(replace(results, cells=cells, audit=audit)))[0] == (
        "hi: the reward tom-rl pays a published rule (A re-run); without an answer it is won by: "
        "always 'tin' on 30.0% (strictly 25.0%); yes and no on 50.0% (strictly 0.0%)."
    )


def with_reward(cell: Cell, reward: PublishedReward) -> Cell:
    if not isinstance(cell, TrainedCell):
        return cell
    return cell.model_copy(update={"train": cell.train.model_copy(update={"reward": reward})})


def test_a_strict_accuracy_stands_beside_the_published_one_where_they_differ() -> None:
    row = study(order_3=0.3, lengths=[20.0] * 20).rows()[0]
    assert cells_of(row)[4] == "60.0"
    assert cells_of(row.model_copy(update={"base_strict": 0.512}))[4] == "60.0 (51.2)"
    assert cells_of(row.model_copy(update={"trained_strict": 0.0}))[5] == "60.0 (0.0)"


def test_answers_that_could_not_be_read_stand_beside_accuracies_where_there_are_any() -> None:
    row = study(order_3=0.3, lengths=[20.0] * 20).rows()[0]
    meaning = "in square brackets: responses in which no answer could be read"
    assert row.base_no_answer == 0 and meaning not in notes_on([row])
    unread = row.model_copy(update={"base_strict": 0.512, "base_no_answer": 0.303})
    assert cells_of(unread)[4] == "60.0 (51.2) [30.3]" and meaning in notes_on([row, unread])
    assert cells_of(row.model_copy(update={"trained_no_answer": 0.0004}))[5] == "60.0"


def test_a_model_that_was_not_run_is_in_the_table_as_absent() -> None:
    results = study(order_3=0.3, lengths=[20.0] * 20)
    base = results.cells["nano-base"].cell
    api = ApiCell(**{**base.model_dump(exclude={"kind"}), "model": "gpt", "title": "GPT"})
    why = "GPT is behind an address"
    cells = {**results.cells, "gpt-base": CellResult("gpt-base", api, {}, {}, absent=why)}
    bases = {**results.bases, "gpt": None}
    cards = {**results.base_cards, "gpt": base_card("gpt", None)}
    results = replace(results, cells=cells, bases=bases, base_cards=cards)
    rows = [row for row in results.rows() if row.cell == "gpt-base"]
    assert [row.task for row in rows] == ["hi_tom_orders_0_2", "hi_tom_order_3", "arithmetic"]
    assert {(row.base, row.trained, row.absent) for row in rows} == {(None, None, why)}
    shown = ("gpt-base", "-", "hi_tom_orders_0_2", "not known", "absent", "-", "-")
    assert cells_of(rows[0])[:7] == shown
    assert f"gpt-base: absent: {why}." in findings(*signed(results))
    assert "absent" in markdown(results)


def test_figures_beside_the_accuracy_have_lines_of_their_own() -> None:
    results = study(order_3=0.3, lengths=[20.0] * 20)
    found = PairScores(accuracy=share(0.2), sensitivity=share(0.4))
    after = found.model_copy(update={"accuracy": share(0.5)})
    options = OptionScores(likeliest=share(0.6), by_length=share(0.7), chance=1 / 3)
    for key, pairs in (("nano-base", found), ("nano-hi", after)):
        cell = results.cells[key]
        more = {"pairs": pairs, "options": options}
        scores = cell.tasks["hi_tom_order_3"].model_copy(update=more)
        tasks = {**cell.tasks, "hi_tom_order_3": scores}
        results = replace(results, cells={**results.cells, key: replace(cell, tasks=tasks)})
    row = next(row for row in results.rows() if row.task == "hi_tom_order_3")
    mark = cells_of(row)[3]
    assert [
        (line[2].removeprefix("hi_tom_order_3: "), *line[3:]) for line in lines_of(row)[1:]
    ] == [
        ("pair accuracy", mark, "20.0", "50.0", "+30.0 ± ?", "-"),
        ("intervention sensitivity", mark, "40.0", "40.0", "+0.0 ± ?", "-"),
        ("options", mark, "60.0", "60.0", "+0.0 ± ?", "33.3 chance"),
        ("options by length", mark, "70.0", "70.0", "+0.0 ± ?", "33.3 chance"),
    ]
    text = markdown(results)
    assert f"| hi_tom_order_3: pair accuracy | {mark} | 20.0 | 50.0 | +30.0 ± ? |" in text
    assert "± ?: a change whose interval is not known" in text
