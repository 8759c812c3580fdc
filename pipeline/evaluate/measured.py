"""What a figure beside the accuracy is the mean of: a value for each pair, or for each question.

Both what a cell scores and what training changes, pair by pair, are read off these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from pipeline.evaluate.records import PAIR_ACCURACY, SENSITIVITY, sample_figures
from pipeline.evaluate.samples import majority, pass_at, said_by
from pipeline.tasks.example import Example, pairs_of
from pipeline.tasks.grading import Grade


@dataclass(frozen=True, slots=True)
class ClusteredValues:
    """The values that a figure is the mean of.

    Attributes:
        values: By pair, or by the id of the question.
        stories: What each is about.
    """

    values: Mapping[str, float]
    stories: Mapping[str, str]


def measured(
    examples: Sequence[Example], groups: Sequence[Sequence[Grade]]
) -> dict[str, ClusteredValues]:
    """What there is of one column, by the name of the figure.

    Args:
        examples: The questions.
        groups: The grades of the answers to each.
    """
    first = [group[0] for group in groups]
    found = {
        PAIR_ACCURACY: both_right(examples, [grade.correct for grade in first]),
        SENSITIVITY: moved(examples, [grade.extracted for grade in first]),
    }
    samples = max(map(len, groups), default=1)
    if samples > 1:
        found |= _of_samples(examples, groups, samples)
    return {name: each for name, each in found.items() if each.values}


def story_of(one: Example, other: Example) -> str:
    """What stands for the two stories of a pair, whatever is asked about them."""
    return min(one.story_id, other.story_id)


def both_right(examples: Sequence[Example], right: Sequence[bool]) -> ClusteredValues:
    return _of_pairs(examples, pairs_of(examples), lambda one, other: right[one] and right[other])


def moved(examples: Sequence[Example], extracted: Sequence[str | None]) -> ClusteredValues:
    """Of each pair with two gold answers whether two different answers were given."""

    def differ(one: int, other: int) -> bool:
        said = [said_by(examples[place], extracted[place] or "") for place in (one, other)]
        return all(said) and said[0] != said[1]

    two = {
        name: (one, other)
        for name, (one, other) in pairs_of(examples).items()
        if examples[one].answer != examples[other].answer
    }
    return _of_pairs(examples, two, differ)


def _of_pairs(
    examples: Sequence[Example],
    pairs: Mapping[str, tuple[int, int]],
    value: Callable[[int, int], bool],
) -> ClusteredValues:
    return ClusteredValues(
        {name: value(*both) for name, both in pairs.items()},
        {name: story_of(examples[one], examples[other]) for name, (one, other) in pairs.items()},
    )


def _of_samples(
    examples: Sequence[Example], groups: Sequence[Sequence[Grade]], samples: int
) -> dict[str, ClusteredValues]:
    right = [[grade.correct for grade in group] for group in groups]
    chosen = [majority(e, group).correct for e, group in zip(examples, groups, strict=True)]
    values: tuple[Sequence[float], ...] = (
        [mean(each) for each in right],
        [pass_at(len(each), len(each), sum(each)) for each in right],
        chosen,
    )
    names = [example.id for example in examples]
    stories = {example.id: example.story_id for example in examples}
    return {
        figure: ClusteredValues(dict(zip(names, each, strict=True)), stories)
        for figure, each in zip(sample_figures(samples), values, strict=True)
    }
