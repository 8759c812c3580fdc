"""What is said of the rollouts that are kept of a training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from pipeline.analysis.rollouts import SAMPLED, longer_if_right, sampled, thirds
from pipeline.data.codec import write_dataset
from pipeline.data.prompt import maker
from pipeline.evaluate.statistics import Estimate
from pipeline.tasks.example import Example
from pipeline.train.kept_rollouts import KeptRollout, table_of
from tests.analysis.made_evidence import ASKED, STORY, rollouts
from tests.analysis.test_findings import study

TRUE = "Bob thinks the hat is in the red_box."
FALSE = "Bob thinks the hat is in the blue_jar."


def test_early_and_late_are_thirds_of_the_steps() -> None:
    found = thirds(
        rollouts("Wait, no.", "So.", 1.0), [{"step": n, "entropy": n} for n in range(31)]
    )
    assert found is not None
    first, last = found
    assert [sorted(set(each.rows["step"])) for each in found] == [
        list(range(1, 11)),
        list(range(21, 31)),
    ]
    assert (first.reflecting.value, last.reflecting.value) == (1.0, 0.0)
    assert (first.entropy, last.entropy) == (5.5, 25.5)
    assert thirds(table_of()) is None


@pytest.mark.parametrize("words", ["wait", "Let me verify", "I re-check", "Hmm"])
def test_words_that_reflect(words: str) -> None:
    found = thirds(rollouts("It waits in the waiting room.", f"So. {words}, no.", 1.0))
    assert found is not None
    assert [each.reflecting.value for each in found] == [0.0, 1.0]


def test_length_is_compared_within_a_question() -> None:
    """Long questions that are always right say nothing; what is within a question does."""
    easy = [row(step, f"easy {n}", 300, True) for step in (1, 2, 3) for n in range(9)] * 2
    random = Random(0)
    hard = [
        row(step, f"hard {n}", random.randint(95, 105) + 20 * right, right)
        for step in (1, 2, 3)
        for n in range(9)
        for right in (True, False)
    ]
    found = longer_if_right(table_of(easy + hard))
    assert isinstance(found, Estimate)
    mean = table_of(easy + hard)["tokens"].mean()
    assert found.low < 20 / mean < found.high and found.low > 0
    assert (found.count, found.clusters) == (27, 9)
    assert longer_if_right(table_of(easy)) is None


def row(step: int, name: str, tokens: int, right: bool) -> KeptRollout:
    return KeptRollout(
        step=step,
        id=name,
        tokens=tokens,
        finished=True,
        right=right,
        reward=float(right),
        response="",
    )


def test_the_table_says_what_was_true(tmp_path: Path) -> None:
    results = study(order_3=0.3, lengths=[20.0] * 20)
    (made, *_) = results.trained()
    example = Example("hi_tom", "hi_tom", STORY.format("box"), ASKED, "red_box", order=2)
    kept = [
        {**row(step, example.id, 30, True), "response": f"{said}</think>"}
        for step in range(1, 10)
        for said in ((TRUE, TRUE) if step < 5 else (TRUE, FALSE))
    ]
    results.cells[made.key] = replace(made, rollouts=table_of(kept))
    folder = tmp_path / made.cell.inputs
    folder.mkdir(parents=True)
    write_dataset(folder / "train.parquet", [example], maker("compact", None), "train")
    (line,) = sampled(results, tmp_path)
    assert (line["cell"], line["true_first"], line["true_last"]) == (made.key, 1.0, 0.5)
    assert "100.0 → 50.0" in SAMPLED.markdown([line])
    assert line["longer_if_right"] is None and "| - |" in SAMPLED.markdown([line])
