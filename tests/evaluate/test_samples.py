"""Several answers to each question: estimators, ties, and what stays as it was."""

from __future__ import annotations

from itertools import combinations

import pandas as pd
import pytest

from pipeline.evaluate.samples import depths, first_samples, majority, pass_at
from pipeline.tasks import registry
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade

QUESTION = Example("hi_tom_style", "hi_tom_style", "story", "q", "box", order=1)


@pytest.mark.parametrize(("samples", "correct", "k"), [(5, 2, 1), (5, 2, 3), (4, 0, 2), (4, 4, 3)])
def test_pass_at_k_is_the_share_of_draws_with_a_right_answer(
    samples: int, correct: int, k: int
) -> None:
    draws = list(combinations([n < correct for n in range(samples)], k))
    assert pass_at(k, samples, correct) == pytest.approx(sum(map(any, draws)) / len(draws))


def test_pass_at_k_is_given_for_doubled_numbers_and_all() -> None:
    assert (depths(2), depths(3), depths(8), depths(10)) == ([2], [2, 3], [2, 4, 8], [2, 4, 8, 10])


@pytest.mark.parametrize(
    ("answers", "chosen"),
    [
        (["bin", "box", "Box."], 1),
        (["bin", "box", "bin", "box"], 0),
        (["", "", "box"], 2),
        (["", ""], 0),
        (["jar", "box", "bin", "bin", "box"], 1),
    ],
)
def test_the_majority_of_what_is_said_counts_and_ties_go_to_the_earliest(
    answers: list[str], chosen: int
) -> None:
    task = registry.get("hi_tom_style")
    group: list[Grade] = [task.grade(f"</think><answer>{a}</answer>", QUESTION) for a in answers]
    assert majority(QUESTION, group) is group[chosen]


def test_where_questions_have_one_answer_it_is_the_first() -> None:
    frame = pd.DataFrame({"id": ["a", "b"]})
    assert first_samples(frame) is frame
    several = pd.DataFrame({"id": ["a", "a", "b", "b"], "sample": [0, 1, 0, 1]})
    assert list(first_samples(several)["id"]) == ["a", "b"]
