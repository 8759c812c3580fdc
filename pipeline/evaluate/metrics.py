"""Accuracy with its uncertainty, by task, belief order, question type and counterfactual pair."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from statistics import mean, median

from pipeline.evaluate.measured import ClusteredValues, both_right, moved
from pipeline.evaluate.records import OptionScores, PairScores, SampleScores, Share, TaskScores
from pipeline.evaluate.runner import Graded
from pipeline.evaluate.samples import depths, majority, mean_pass_at
from pipeline.evaluate.statistics import share
from pipeline.tasks import registry
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade


def task_metrics(
    examples: Sequence[Example], graded: Sequence[Graded], samples: int = 1
) -> TaskScores:
    """The metrics of one task: accuracy overall, by order and by question type.

    Args:
        examples: The questions.
        graded: Their answers, ``samples`` to each, those of a question side by side. All figures
            are of the first; the others count in ``samples`` alone.
        samples: Answers to each question.

    Every accuracy is there twice: by the benchmark's published rule, and by the strict match. Where
    the task has figures of its own (macro-F1, FANToM's ALL), they stand beside these.
    """
    groups = [graded[start : start + samples] for start in range(0, len(graded), samples)]
    graded = graded[::samples]
    pairs = list(zip(examples, graded, strict=True))
    lengths = [g.response.completion_tokens for g in graded]
    reasons = [g.response.finish_reason for g in graded]
    overall = _share(pairs)
    task = registry.get(examples[0].task)
    own = (
        {} if task.scores is None else dict(task.scores([(e, g.grade.extracted) for e, g in pairs]))
    )
    return TaskScores(
        **dict(overall),
        format_rate=mean(float(g.grade.format_ok) for g in graded),
        length_mean=mean(lengths),
        length_median=median(lengths),
        prompt_mean=mean(g.response.prompt_tokens for g in graded),
        unfinished=reasons.count("length"),
        refused=reasons.count("content_filter"),
        prompts_too_long=reasons.count("prompt_too_long"),
        by_order=_grouped(pairs, lambda example: str(example.order)),
        by_question_type=_grouped(pairs, lambda example: example.question_type),
        unread=sum(not (g.grade.extracted or "").strip() for g in graded),
        too_late=sum(g.grade.too_late for g in graded),
        pairs=pair_scores(pairs),
        own=own,
        headline=[name for name in own if name.endswith(task.headline)],
        samples=None if samples == 1 else _of_samples(examples, groups, samples),
        options=_of_options(pairs),
    )


def _of_options(answered: Sequence[tuple[Example, Graded]]) -> OptionScores | None:
    found = [(e.story_id, g.scored) for e, g in answered if g.scored is not None]
    if not found:
        return None
    stories, scored = zip(*found, strict=True)
    likeliest, by_length = [s.right for s in scored], [s.right_by_length for s in scored]
    return OptionScores(
        likeliest=_share_of(likeliest, likeliest, stories),
        by_length=_share_of(by_length, by_length, stories),
        chance=mean(1 / len(each.options) for each in scored),
    )


def _of_samples(
    examples: Sequence[Example], groups: Sequence[Sequence[Graded]], samples: int
) -> SampleScores:
    grades: list[list[Grade]] = [[each.grade for each in group] for group in groups]
    each = [grade for group in grades for grade in group]
    chosen = [majority(e, group) for e, group in zip(examples, grades, strict=True)]
    stories = [example.story_id for example in examples]
    told = [story for story in stories for _ in range(samples)]
    return SampleScores(
        count=samples,
        mean=_share_of([g.correct for g in each], [g.strict for g in each], told),
        majority=_share_of([g.correct for g in chosen], [g.strict for g in chosen], stories),
        pass_at={str(k): mean_pass_at(k, grades) for k in depths(samples)},
    )


def pair_scores(answered: Sequence[tuple[Example, Graded]]) -> PairScores | None:
    """Pair accuracy and intervention sensitivity; None where there are no pairs.

    The two members of a pair are the examples of one ``meta.pair``. Pair accuracy is the share of
    pairs both members of which are right. Intervention sensitivity is, among the pairs whose
    members have different gold answers, the share for which an answer was found in both responses
    and the two differ after normalisation; whether they are right plays no part. Pairs of the same
    two stories go together.

    Source: Hiforever-h/RobustToM-RL:rft/evaluate.py (``pair_accuracy``,
    ``intervention_sensitivity``). A model that always guesses anew has a high sensitivity, so read
    it beside the pair accuracy.
    """
    examples = [example for example, _ in answered]
    grades = [graded.grade for _, graded in answered]
    right = both_right(examples, [grade.correct for grade in grades])
    if not right.values:
        return None
    strict = both_right(examples, [grade.strict for grade in grades])
    changed = moved(examples, [grade.extracted for grade in grades])
    return PairScores(
        accuracy=_share_measured(right, strict),
        sensitivity=_share_measured(changed, changed) if changed.values else None,
    )


def _share_measured(right: ClusteredValues, strict: ClusteredValues) -> Share:
    found, strictly = ([bool(v) for v in each.values.values()] for each in (right, strict))
    return _share_of(found, strictly, list(right.stories.values()))


def _share(pairs: Sequence[tuple[Example, Graded]]) -> Share:
    graded = [g.grade for _, g in pairs]
    stories = [example.story_id for example, _ in pairs]
    return _share_of([g.correct for g in graded], [g.strict for g in graded], stories)


def _share_of(right: Sequence[bool], strict: Sequence[bool], clusters: Sequence[Hashable]) -> Share:
    found = share(right, clusters)
    return Share(
        count=len(right),
        correct=sum(right),
        accuracy=found.value,
        interval=(found.low, found.high),
        strict_accuracy=sum(strict) / len(strict),
    )


def _grouped(
    pairs: Sequence[tuple[Example, Graded]], key: Callable[[Example], str]
) -> dict[str, Share]:
    groups: dict[str, list[tuple[Example, Graded]]] = {}
    for example, graded in pairs:
        groups.setdefault(key(example), []).append((example, graded))
    return {name: _share(groups[name]) for name in sorted(groups)}
