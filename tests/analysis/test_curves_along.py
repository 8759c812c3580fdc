"""What the report and the ledger say of steps that were asked along a training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from pipeline.analysis.along import column_curves, curve_findings, curve_texts
from pipeline.analysis.figures import draw_all
from pipeline.analysis.grades import no_grades
from pipeline.analysis.ledger.evidence import OTHERS, AskedModel, Evidence, Run, Who
from pipeline.analysis.ledger.measures import late
from pipeline.analysis.ledger.predicates import comes_and_goes
from pipeline.analysis.report import write_report
from pipeline.analysis.results import Results, TrainedResult
from pipeline.analysis.samples import Recorded
from pipeline.evaluate.records import AskedStep
from tests.analysis.made import grades
from tests.analysis.made_evidence import asked_along
from tests.analysis.test_seeds import seeded

COLUMNS = ("hi_tom_orders_0_2", "hi_tom_order_3")
QUESTIONS = 80


def note(right: float) -> str:
    """The first half of a column was asked; so many of it are right."""
    asked = QUESTIONS // 2
    many = round(right * asked)
    return "1" * many + "0" * (asked - many) + "-" * (QUESTIONS - asked)


def answers(inside: float, outside: float) -> pd.DataFrame:
    """So many right answers to each column."""
    marks = (note(right)[: QUESTIONS // 2] * 2 for right in (inside, outside))
    return pd.concat([grades(*each) for each in zip(COLUMNS, map(right_of, marks), strict=True)])


def right_of(marks: str) -> list[float]:
    return [float(mark == "1") for mark in marks]


def along(gone: tuple[float, ...], *seeds: float) -> Results:
    """Two seeds; on the column that is not trained, accuracy goes so from 0.3 at the start."""
    results, cells = seeded([*seeds] or [0.6, 0.7]), {}
    for key, result in results.cells.items():
        cells[key] = replace(result, grades=answers(0.3, 0.3))
        if isinstance(result, TrainedResult):
            rising = (0.4, 0.5, 0.5, 0.6, 0.6)
            found = answers(rising[-1], gone[-1])
            steps = tuple(
                AskedStep(step=20 * n, right={COLUMNS[0]: note(one), COLUMNS[1]: note(other)})
                for n, (one, other) in enumerate(zip(rising, gone, strict=True), 1)
            )
            cells[key] = replace(result, grades=found, along=steps)
    return replace(results, cells=cells)


GONE, FLAT = (0.3, 0.8, 0.85, 0.6, 0.3), (0.3, 0.35, 0.3, 0.35, 0.3)


def test_a_gain_that_went_is_told_from_noise(tmp_path: Path) -> None:
    curves = column_curves(results := along(GONE))
    assert len(curves) == 2 * 2 * len(COLUMNS)
    rising, gone = (next(c for c in curves if c.column == name) for name in COLUMNS)
    assert [point.step for point in gone.points] == [0, 20, 40, 60, 80, 100]
    assert gone.questions == QUESTIONS // 2
    first = gone.points[0]
    assert first.accuracy == pytest.approx(0.3)
    assert first.interval[0] < first.accuracy < first.interval[1]
    assert gone.peak and gone.peak.came_and_went and gone.peak.step == 60
    assert rising.peak and not rising.peak.came_and_went
    texts = curve_texts(gone)
    assert texts[3:7] == ("30.0", "85.0", "60", "30.0") and texts[-1] == "a gain came and went"
    (sentence,) = curve_findings(curves)
    assert "in 4 of 8 curves a gain came and went" in sentence
    (sentence,) = curve_findings(column_curves(along(FLAT)))
    assert "in 0 of 8 curves" in sentence

    drawn = draw_all(results)
    assert "along-the-training" in drawn and "along-the-training" not in draw_all(seeded([0.6]))
    write_report(results, Recorded({}, {}), tmp_path / "report")
    assert "a gain came and went" in (tmp_path / "report" / "report.md").read_text()
    assert "Gains that come and go" in (tmp_path / "report" / "index.html").read_text()


@pytest.mark.parametrize(
    ("course", "word"),
    [
        ((0.3, *GONE), "supported"),
        ((0.3, 0.3, 0.3, 0.3), "contradicted"),
        ((0.3, 0.5, 0.7, 0.8, 0.8), "contradicted"),
        ((0.3, 0.5, 0.7, 0.64, 0.67), "undecided"),
    ],
)
def test_the_ledger_decides_by_what_was_asked(course: tuple[float, ...], word: str) -> None:
    who = Who("qwen25-7b", "hi", "reinforce_plus_plus")
    model = AskedModel(no_grades(), {OTHERS: ("far",)}, along={"far": asked_along(course)})
    evidence = Evidence({who: [Run(model, model)]})
    assert comes_and_goes(who, OTHERS)(evidence).word == word
    assert late(who, OTHERS).of(evidence).value == pytest.approx(
        sum(course[-(len(course) // 3) :]) / (len(course) // 3)
        - sum(course[1 : 1 + len(course) // 3]) / (len(course) // 3)
    )
