"""Several answers to each question: their scores, and the first of them for whoever reads one.

The first sample stands for the model wherever one answer to each question is meant: accuracy,
verdicts, paired changes. It is what one sample would have been.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import comb
from statistics import mean

import pandas as pd

from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade
from pipeline.tasks.plain import plain

SAMPLE = "sample"
"""Column of responses and grades; left out where each question has one answer."""


def first_samples(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of each question's first sample, numbered from 0."""
    if SAMPLE not in frame:
        return frame
    return frame[frame[SAMPLE] == 0].reset_index(drop=True)


def pass_at(k: int, samples: int, correct: int) -> float:
    """The probability that one of ``k`` answers drawn from the samples is right.

    Source: Chen et al. 2021 (arXiv 2107.03374), equation 1, which is unbiased.
    """
    return 1 - comb(samples - correct, k) / comb(samples, k)


def mean_pass_at(k: int, groups: Sequence[Sequence[Grade]]) -> float:
    """:func:`pass_at` over questions with as many samples each."""
    return mean(pass_at(k, len(group), sum(g.correct for g in group)) for group in groups)


def depths(samples: int) -> list[int]:
    """The k of pass@k: doubled from 2 on, and the number of samples."""
    return sorted({samples, *(2**power for power in range(1, samples.bit_length()))})


def majority(example: Example, group: Sequence[Grade]) -> Grade:
    """The grade of the answer that most samples give; of as many, of the earliest.

    Samples without an answer have no vote; where none has one, the first sample stands.
    """
    said = [said_by(example, grade.extracted or "") for grade in group]
    votes = Counter(each for each in said if each)
    if not votes:
        return group[0]
    return group[said.index(votes.most_common(1)[0][0])]


def said_by(example: Example, answer: str) -> frozenset[str]:
    """What an answer says, so that the order in which it lists names does not count."""
    parts = answer.split(",") if example.answer_kind == "names" else [answer]
    return frozenset(said for part in parts if (said := plain(part)))
