"""Several seeds: means with intervals, a band in the curve, and one line for each set of cells."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.analysis.figures.curves import training_curves
from pipeline.analysis.findings import findings
from pipeline.analysis.report import write_report
from pipeline.analysis.results import CellResult, MissingCell, Results
from pipeline.analysis.samples import Recorded
from pipeline.analysis.seeds import (
    BEST,
    LAST,
    SeedEstimate,
    change_texts,
    changes,
    groups,
    standing_texts,
    standings,
)
from pipeline.audit.records import Audit, Baselines, Best, ColumnAudit
from pipeline.config.expand import expand
from pipeline.config.params import TrainedCell
from pipeline.config.study import Study
from pipeline.config.study_files import find_study
from pipeline.formats.records import Figures
from tests.analysis.made import grades, result, results_of, scores, signed
from tests.analysis.test_verdicts import verdict
from tests.conftest import TINY

_ARMS = ("grpo", "reinforce-plus-plus")


def seeded(after: list[float]) -> Results:
    """Results of mini-seeds with as many seeds; validation ends at ``after``, its best above."""
    study = find_study(TINY, "mini-seeds").model_dump(mode="json")
    study["grid"]["seeds"] = list(range(len(after)))
    params = expand(Study.model_validate(study))
    cells = {}
    for key, cell in params.cells.items():
        is_trained = isinstance(cell, TrainedCell)
        end = after[cell.seed] if is_trained else 0.5
        curve: list[Figures] = []
        for step in range(4) if is_trained else ():
            row: Figures = {
                "step": step,
                "validation_accuracy": 0.5 + step * (end - 0.5) / 3,
            }
            if step:
                row |= {"reward_mean": end, "length_mean": 20.0, "length_median": 20, "accuracy": 0}
            curve.append(row)
        tasks = {
            "hi_tom_orders_0_2": scores(end, {"0": end}),
            "hi_tom_order_3": scores(0.4 if is_trained else 0.5, {"0": 0.4}),
        }
        cells[key] = result(key, cell, tasks, {"arithmetic": scores(0.5)}, curve, best=end + 0.05)
    return results_of(params, cells, Audit(columns={}, leakage={}))


def test_an_interval_is_that_of_students_t() -> None:
    stats = pytest.importorskip("scipy.stats")
    for values in ([0.1, 0.4], [0.2, 0.25, 0.15, 0.3, 0.22], [n / 50 for n in range(40)]):
        found = SeedEstimate.of(values)
        low, high = stats.t.interval(0.95, len(values) - 1, loc=found.mean, scale=stats.sem(values))
        assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)
    assert SeedEstimate.of([0.3]) == SeedEstimate(mean=0.3, low=0.3, high=0.3, seeds=1)


def test_cells_that_differ_in_their_seed_are_one_group() -> None:
    found = groups(seeded([0.6, 0.7, 0.65]))
    assert [group.label for group in found] == ["nano-hi-grpo", "nano-hi-reinforce-plus-plus"]
    assert all(len(group.cells) == 3 for group in found)
    curve = dict(found[0].curve("validation_accuracy"))
    assert curve[0] == SeedEstimate(mean=0.5, low=0.5, high=0.5, seeds=3)
    assert curve[3].mean == pytest.approx(0.65) and curve[3].low < 0.65 < curve[3].high


def test_a_step_that_one_seed_did_not_reach_is_left_out() -> None:
    results = seeded([0.6, 0.7])
    next(each for each in results.trained() if each.key == "nano-hi-grpo-s1").curve.pop()
    assert [step for step, _ in groups(results)[0].curve("validation_accuracy")] == [0, 1, 2]


def test_changes_name_the_best_the_last_and_every_task() -> None:
    found = {c.measure: c for c in changes(seeded([0.6, 0.7])) if c.group == "nano-hi-grpo"}
    assert list(found) == [BEST, LAST, "hi_tom_orders_0_2", "hi_tom_order_3", "arithmetic"]
    assert found[BEST].change.mean == pytest.approx(0.2)
    assert found[LAST].change.mean == pytest.approx(0.15)
    assert found["hi_tom_order_3"].change.mean == pytest.approx(-0.1)
    assert changes(seeded([0.6])) == []


def test_what_a_later_training_changes_is_told_from_what_the_one_before_it_did() -> None:
    results = seeded([0.6, 0.7])
    for key, found in results.cells.items():
        if "reinforce" in key:
            first = key.replace("reinforce-plus-plus", "grpo")
            cell = found.cell.model_copy(update={"starts_from": first})
            results.cells[key] = replace(found, cell=cell)
    by_cells = {(c.group, c.measure): c for c in changes(results)}
    began, later = (by_cells[f"nano-hi-{arm}", "hi_tom_order_3"] for arm in _ARMS)
    assert (began.before, began.after) == pytest.approx((0.5, 0.4))
    assert (later.before, later.after) == pytest.approx((0.4, 0.4))
    gone = next(key for key in results.cells if key.startswith("nano-hi-grpo"))
    cell = results.cells[gone].cell
    results.cells[gone] = CellResult(gone, cell, {}, {}, missing=MissingCell(cause=None))
    assert changes(results) == []  # one seed is left whose start is there


def test_standings_set_cells_beside_their_base_and_the_rules() -> None:
    results = seeded([0.6, 0.7])
    for task, rules in {
        "hi_tom_orders_0_2": {"earliest exit": 0.9, "last": 0.3},
        "hi_tom_order_3": {"earliest exit": 0.2, "last": 0.4},
    }.items():
        best = max(rules, key=lambda rule: rules[rule])
        found = Baselines.model_construct(best=Best(rule=best, accuracy=rules[best]), rules=rules)
        results.audit.columns[task] = ColumnAudit.model_construct(baselines=found)
    stand = {each.who: each for each in standings(results)}
    assert list(stand) == [
        *("base model", "nano-hi-grpo", "nano-hi-reinforce-plus-plus"),
        *("rule: earliest exit", "rule: last"),
    ]
    assert stand["nano-hi-grpo"].columns["hi_tom_orders_0_2"].mean == pytest.approx(0.65)
    columns = list(stand["base model"].columns)
    assert standing_texts(stand["nano-hi-grpo"], columns)[:3] == (
        "nano-hi-grpo",
        "2",
        "65.0 ± 63.5",
    )
    assert standing_texts(stand["rule: last"], columns) == ("rule: last", "-", "30.0", "40.0", "-")
    assert standings(seeded([0.6])) == []


def test_the_curve_has_a_band_only_where_there_are_several_seeds() -> None:
    several, one = training_curves(seeded([0.6, 0.7])), training_curves(seeded([0.6]))
    assert [len(axis.collections) for axis in several.axes] == [2, 2, 2]
    assert [len(axis.lines) for axis in several.axes] == [2, 2, 2]
    assert [len(axis.collections) for axis in one.axes] == [0, 0, 0]


def test_the_report_holds_the_seeds(tmp_path: Path) -> None:
    write_report(seeded([0.6, 0.7]), Recorded({}, {}), tmp_path)
    written = json.loads((tmp_path / "results.json").read_text())
    assert [c["measure"] for c in written["over_seeds"]][:2] == [BEST, LAST]
    assert "+15.0 (-48.5 to +78.5)" in (tmp_path / "seeds.md").read_text()
    assert "Over seeds" in (tmp_path / "index.html").read_text()
    plain = tmp_path / "plain"
    write_report(seeded([0.6]), Recorded({}, {}), plain)
    assert not (plain / "seeds.md").exists()


def test_of_seeds_it_is_told_what_they_say_together() -> None:
    results = seeded([0.6, 0.7, 0.65])
    cells = {
        key: replace(cell, verdicts={"hi_tom_style": verdict(*follows)})
        for key, cell in results.cells.items()
        for follows in [("beliefs",) if key.endswith("s1") else ("rule", "earliest exit")]
    }
    shrinking: list[Figures] = [
        {"step": step, "length_median": 20.0 if step < 10 else 6.0, "accuracy": step / 20}
        for step in range(4, 24)
    ]
    *_, last = results.trained()
    verdicts = cells[last.key].verdicts
    cells[last.key] = replace(last, curve=[*last.curve, *shrinking], verdicts=verdicts)
    sentences = findings(*signed(replace(results, cells=cells)))
    group = "nano-hi-grpo, 3 seeds"
    assert (
        f"{group}: hi_tom_style: answers follow rule (earliest exit) in 2, beliefs in 1; reasoning "
        "is unfaithful in 3."
    ) in sentences
    assert f"{group}: signatures: copied template in 3." in sentences
    (alone,) = (said for said in sentences if said.startswith(tuple(f"{key}:" for key in cells)))
    assert alone.startswith(f"{last.key}: ") and "collapse" in alone


def test_changes_of_columns_have_it_where_single_answers_are_kept() -> None:
    results = seeded([0.6, 0.7])
    assert all(change.drawn is None for change in changes(results))
    cells = {}
    for key, cell in results.cells.items():
        right = 50 if cell.cell.combination else 20
        answered = grades("hi_tom_order_3", [float(place < right) for place in range(100)])
        cells[key] = replace(cell, grades=answered)
    found = changes(replace(results, cells=cells))
    drawn = {each.measure: each.drawn for each in found}
    assert drawn[BEST] is drawn[LAST] is drawn["arithmetic"] is None
    low, high = drawn["hi_tom_order_3"] or (0, 0)
    assert 0.15 < low < 0.3 < high < 0.45
    last = next(each for each in found if each.measure == "hi_tom_order_3")
    assert change_texts(last)[-1] == f"{100 * low:+.1f} to {100 * high:+.1f}"
