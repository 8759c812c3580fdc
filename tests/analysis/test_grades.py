"""What training changed, pair by pair and question by question, read back from recorded grades."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from pipeline.analysis.grades import CORRECT, contrasts, mean_contrast, paired, read_grades
from pipeline.evaluate.engine import Response
from pipeline.evaluate.metrics import task_metrics
from pipeline.evaluate.records import TaskScores
from pipeline.evaluate.runner import Graded, grade_response, repeated, write_grades
from pipeline.tasks.example import Example
from tests.analysis.made import grades

COLUMN = "pairs"


def questions() -> list[Example]:
    """Twenty pairs, two for each two stories."""
    return [
        Example(
            *("hi_tom", "hi_tom", f"Story {pair // 2} {member}.", f"{pair}?", gold),
            choices=("box", "bin"),
            meta={"pair": str(pair)},
        )
        for pair in range(20)
        for member, gold in enumerate(("box", "bin"))
    ]


def recorded(path: Path, said: list[str], samples: int = 1) -> tuple[pd.DataFrame, TaskScores]:
    """Write the grades of answers; read them back, with the scores of the column."""
    asked = questions()
    each = repeated(asked, samples)
    graded = [
        Graded(
            Response(text, 1, "stop"), grade_response(text, example, "compact"), "", place % samples
        )
        for place, (example, text) in enumerate(
            zip(each, [f"<answer>{answer}</answer>" for answer in said], strict=True)
        )
    ]
    write_grades(path, each, graded, [COLUMN] * len(each))
    return read_grades(path, "evaluate", {COLUMN: asked}), task_metrics(asked, graded, samples)


@pytest.mark.parametrize("samples", [1, 3])
def test_figures_beside_the_accuracy_change_by_pair_and_by_question(
    tmp_path: Path, samples: int
) -> None:
    gold = [example.answer for example in repeated(questions(), samples)]
    before, was = recorded(tmp_path / "1.parquet", ["box"] * len(gold), samples)
    half = [answer if place < len(gold) // 2 else "box" for place, answer in enumerate(gold)]
    after, now = recorded(tmp_path / "2.parquet", half, samples)
    changes = contrasts(paired(before, after))
    found = {figure: each for (_, figure), each in changes.items() if figure != CORRECT}
    assert set(found) == set(was.beside_accuracy()) == set(now.beside_accuracy())
    assert len(found) == (2 if samples == 1 else 5)
    for name, changed in found.items():
        difference = now.beside_accuracy()[name] - was.beside_accuracy()[name]
        assert changed.estimate.value == pytest.approx(difference)
        assert changed.interval[0] <= difference <= changed.interval[1]
    pairs = found["pair accuracy"].estimate
    assert (pairs.value, pairs.count, pairs.clusters) == (0.5, 20, 10)


def test_of_columns_each_counts_the_same() -> None:
    before = pd.concat([grades("large", [0.0] * 100), grades("small", [0.0] * 10)])
    after = pd.concat([grades("large", [1.0, 0.0] * 50), grades("small", [0.0] * 10)])
    after["story"] = before["story"] = before["column"] + before["story"]
    both = paired(before, after)
    found = mean_contrast(both, ["large", "small"])
    assert found.value == pytest.approx(0.25)
    alone = mean_contrast(both, ["large"])
    assert found.high - found.low == pytest.approx((alone.high - alone.low) / 2, rel=0.05)
