"""What training changed, pair by pair and question by question, read back from recorded grades."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.analysis.paired import Answers, beside_changes, mean_change, read_answers
from pipeline.evaluate.engine import Response
from pipeline.evaluate.metrics import task_metrics
from pipeline.evaluate.records import TaskScores
from pipeline.evaluate.runner import Graded, grade_response, repeated, write_grades
from pipeline.tasks.example import Example

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


def recorded(path: Path, said: list[str], samples: int = 1) -> tuple[Answers, TaskScores]:
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
    answers = read_answers(path, "evaluate", {COLUMN: asked})[COLUMN]
    return answers, task_metrics(asked, graded, samples)


@pytest.mark.parametrize("samples", [1, 3])
def test_figures_beside_the_accuracy_change_by_pair_and_by_question(
    tmp_path: Path, samples: int
) -> None:
    gold = [example.answer for example in repeated(questions(), samples)]
    before, was = recorded(tmp_path / "1.parquet", ["box"] * len(gold), samples)
    half = [answer if place < len(gold) // 2 else "box" for place, answer in enumerate(gold)]
    after, now = recorded(tmp_path / "2.parquet", half, samples)
    found = beside_changes(before, after)
    assert set(found) == set(was.beside_accuracy()) == set(now.beside_accuracy())
    assert len(found) == (2 if samples == 1 else 5)
    for name, changed in found.items():
        difference = now.beside_accuracy()[name] - was.beside_accuracy()[name]
        assert changed.estimate.value == pytest.approx(difference)
        assert changed.interval[0] <= difference <= changed.interval[1]
    pairs = found["pair accuracy"].estimate
    assert (pairs.value, pairs.count, pairs.clusters) == (0.5, 20, 10)


def test_of_columns_each_counts_the_same() -> None:
    def column(right: list[bool], about: str) -> Answers:
        names = [f"{about}{place}" for place in range(len(right))]
        return Answers(dict(zip(names, right, strict=True)), {name: name for name in names})

    large = column([False] * 100, "a"), column([True] * 50 + [False] * 50, "a")
    small = column([False] * 10, "b"), column([False] * 10, "b")
    found = mean_change([large, small])
    assert found.value == pytest.approx(0.25)
    alone = mean_change([large])
    assert found.high - found.low == pytest.approx((alone.high - alone.low) / 2, rel=0.05)
