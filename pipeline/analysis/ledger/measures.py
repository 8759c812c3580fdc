"""What predicates look at: one estimate of evidence, with its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean

from pipeline.analysis.along import AskedAlong
from pipeline.analysis.grades import (
    CORRECT,
    WORD_COUNT,
    Paired,
    contrast,
    paired,
    rows_of,
    side_by_side,
)
from pipeline.analysis.ledger.decisions import (
    Effect,
    NotRun,
    Unit,
    among,
    detectable,
    difference,
    moved_by,
    over_seeds,
)
from pipeline.analysis.ledger.evidence import (
    AskedModel,
    Evidence,
    Rule,
    Run,
    Who,
    columns_of,
    said,
)
from pipeline.analysis.rollouts import REFLECTS, longer_if_right, thirds
from pipeline.evaluate import statistics
from pipeline.evaluate.statistics import Estimate
from pipeline.judge.items import Item
from pipeline.judge.recounts import recounted, without
from pipeline.reward.fidelity import case_of, claims_about
from pipeline.rules.listed import chosen_elsewhere
from pipeline.rules.reading import read_all


@dataclass(frozen=True, slots=True)
class Measure:
    """Something to measure.

    Attributes:
        what: What it is, in words.
        of: How it is taken from evidence; raises :class:`NotRun` where it is not there.
        unit: What it is counted in.
    """

    what: str
    of: Callable[[Evidence], Estimate]
    unit: Unit = "points"

    def effect(self, found: Estimate, shows: float | None = None) -> Effect:
        """What was measured as an effect."""
        size = detectable(found) if shows is None else shows
        ends = {"value": found.value, "low": found.low, "high": found.high}
        return Effect(what=self.what, **ends, detectable=size, unit=self.unit)


def _over_runs(
    what: str, who: Who, of_run: Callable[[Run], Estimate], unit: Unit = "points"
) -> Measure:
    """What is taken of each run of a model, over its seeds."""
    return Measure(what, lambda evidence: over_seeds(list(map(of_run, evidence.of(who)))), unit)


def gain(who: Who, topic: str, order: int | None = None) -> Measure:
    """What training changed: question by question; of one belief order, by both accuracies."""

    def of_run(run: Run) -> Estimate:
        if order is None:
            return _changed(run, who, topic)
        return difference(*(_by_order(each, who, topic, order) for each in (run.asked, run.base)))

    return _over_runs(f"change of {who} on {_named(topic, order)}", who, of_run)


def lead(who: Who, other: Who, topic: str, order: int | None = None) -> Measure:
    """By how much one model is ahead of another on the same questions."""

    def of(evidence: Evidence) -> Estimate:
        both = zip(evidence.of(who), evidence.of(other), strict=False)
        if order is not None:
            return difference(*(_level(each, topic, order).of(evidence) for each in (who, other)))
        return over_seeds([_changed(Run(b.asked, a.asked), who, topic) for a, b in both])

    return Measure(f"{who} less {other} on {_named(topic, order)}", of)


def lead_of_orders(who: Who, topic: str, order: int, other: int) -> Measure:
    """By how much a model is better at one belief order than at another."""
    what = f"{who} on {topic}, order {order} less order {other}"
    return replace(less(*(_level(who, topic, each) for each in (order, other))), what=what)


def lead_of_topics(who: Who, topic: str, other: str) -> Measure:
    """By how much more a model gains in one topic than in another."""
    return less(gain(who, topic), gain(who, other))


def lead_of_prompts(who: Who, topic: str, other: str) -> Measure:
    """By how much a model is better at one topic than at another of the same questions."""

    def of_run(run: Run) -> Estimate:
        first, then = (columns_of(run.asked, who, each) for each in (other, topic))
        called = dict(zip(first, then, strict=False))
        grades = run.asked.grades
        before = grades.assign(column=grades["column"].astype(str).replace(called))
        return _changed(Run(replace(run.asked, grades=before), run.asked), who, topic)

    return _over_runs(f"{who} on {topic} less {other}", who, of_run)


def less(one: Measure, other: Measure) -> Measure:
    """One measure less another, which were taken apart."""
    what = f"{one.what} less {other.what}"
    unit: Unit = "points" if one.unit == "%" else one.unit
    return Measure(what, lambda evidence: difference(one.of(evidence), other.of(evidence)), unit)


def rule_lead(topic: str, who: Who) -> Measure:
    """By how much the best rule that learns nothing is ahead of a model, question by question.

    Which rule is the best is said by the other stories, see :func:`chosen_elsewhere`.
    """
    what = f"the best rule less {who} on {topic}"
    return _over_runs(what, who, lambda run: _behind_rule(said(run, who, topic)))


def _behind_rule(items: Sequence[Item]) -> Estimate:
    by_rule = chosen_elsewhere(read_all([item.example for item in items]))
    stories = [item.example.story_id for item in items]
    return statistics.change([item.right for item in items], by_rule, stories)


def rule_gain(topic: str) -> Measure:
    """By how much the best rule is ahead of the better one of chance and the commonest answer.

    On the whole topic, or on the kind of its questions where the lead is largest; the interval then
    allows for all that were looked at (Bonferroni).
    """

    def of(evidence: Evidence) -> Estimate:
        rule = evidence.rule(topic)
        leads = [_ahead_of_blind(each, topic) for each in (rule, *rule.kinds)]
        return among(max(leads, key=lambda lead: lead.value), len(leads))

    return Measure(f"the best rule less a blind guess on {topic}", of)


def _ahead_of_blind(rule: Rule, topic: str) -> Estimate:
    if rule.blind is None:
        raise NotRun("blind guess", topic)
    right = round(rule.best * rule.count)
    answers = [True] * right + [False] * (rule.count - right)
    return moved_by(statistics.share(answers, range(rule.count)), -rule.blind)


def pairs_lead(who: Who, other: Who, figure: str) -> Measure:
    """By how much one model is ahead of another in a figure of counterfactual pairs."""

    def of_run(run: Run, each: Who) -> Estimate:
        found = rows_of(run.asked.grades, figure, columns_of(run.asked, each, "pairs"))
        if found.empty:
            raise NotRun(figure, each)
        return statistics.change([0.0] * len(found), found["value"].tolist(), found["id"].tolist())

    both = (_over_runs("", each, partial(of_run, each=each)) for each in (who, other))
    return replace(less(*both), what=f"{figure}: {who} less {other}")


def longer(who: Who, topic: str) -> Measure:
    """By what share of it the mean length of responses changed."""

    def of_run(run: Run) -> Estimate:
        return moved_by(statistics.ratio(*_lengths(run, who, topic)), -1)

    return _over_runs(f"mean length of {who} on {topic}", who, of_run, "% of length")


def reflecting(who: Who, topic: str) -> Measure:
    """Share of the responses that go back over what was thought."""
    what = f"responses of {who} to {topic} that reflect"
    return _sharing(who, topic, what, lambda item: bool(REFLECTS.search(item.response)))


def reflecting_later(who: Who) -> Measure:
    """What the last third of a training's steps changed in the share of rollouts that reflect."""

    def of_run(run: Run) -> Estimate:
        both = thirds(run.asked.rollouts)
        if both is None:
            raise NotRun("kept rollouts", who)
        first, last = both
        return difference(last.reflecting, first.reflecting)

    return _over_runs(f"late change of the rollouts of {who} that reflect", who, of_run)


def longer_when_right(who: Who) -> Measure:
    """By what share right rollouts are longer than wrong ones to the same question of a step."""

    def of_run(run: Run) -> Estimate:
        found = longer_if_right(run.asked.rollouts)
        if found is None:
            raise NotRun("kept rollouts of which some are right and some wrong", who)
        return found

    what = f"length of right rollouts of {who} less that of wrong ones"
    return _over_runs(what, who, of_run, "% of length")


def stating_nothing(who: Who, topic: str) -> Measure:
    """Share of the responses that state nothing about the object asked for but the answer."""
    what = f"responses of {who} to {topic} that state no more than the answer"
    return _sharing(who, topic, what, states_no_more)


def _sharing(who: Who, topic: str, what: str, has: Callable[[Item], bool | None]) -> Measure:
    """The share of responses with a property, of those of which it is known."""

    def of_run(run: Run) -> Estimate:
        found = [(has(item), item.example.story_id) for item in said(run, who, topic)]
        known = [(value, story) for value, story in found if value is not None]
        if not known:
            raise NotRun(f"stories of {topic} that the engine reads", who)
        return statistics.share([value for value, _ in known], [story for _, story in known])

    return _over_runs(what, who, of_run, "%")


def states_no_more(item: Item) -> bool | None:
    """Whether all that a response claims of the end of the story is the place that it answers.

    So where it claims nothing, or one thing whose place is the answer, whoever is said to believe
    it: "Ann thinks the hat is in the box", then "box". Two claims are a chain of thought, also
    about one place. None where the engine cannot read the story or the question.
    """
    case = case_of(item.example)
    if case is None:
        return None
    told = recounted(item.response, item.example, case)
    claims = claims_about(without(item.response, told), case.question, case.story)
    answered = all(item.says(place) and not negated for _, place, negated in claims)
    return not told.made and len(claims) <= 1 and answered


def late(who: Who, topic: str) -> Measure:
    """What the last third of the asked steps changed from the first third after the base model."""

    def of_run(run: Run) -> Estimate:
        along = asked_along(run, who, topic)
        points = [statistics.share(right, along.stories) for right in along.right]
        third = len(points) // 3
        return difference(_mean_of(points[-third:]), _mean_of(points[1 : 1 + third]))

    return _over_runs(f"late change of {who} on {topic}", who, of_run)


FEWEST_STEPS = 4
"""Steps from which a rise and a fall can be told."""


def asked_along(run: Run, who: Who, topic: str) -> AskedAlong:
    """The answers to the columns of a topic along a training, those of the base model first.

    All columns together, of which larger ones count for more.

    Raises:
        NotRun: If too few steps were asked.
    """
    found = [
        run.asked.along[name] for name in run.asked.topics.get(topic, ()) if name in run.asked.along
    ]
    if not found or len(found[0].steps) < FEWEST_STEPS:
        raise NotRun(f"answers of {FEWEST_STEPS} steps or more to {topic}", who)
    return AskedAlong(
        found[0].steps,
        [
            [is_right for each in found for is_right in each.right[n]]
            for n in range(len(found[0].steps))
        ],
        [story for each in found for story in each.stories],
    )


def _mean_of(points: Sequence[Estimate]) -> Estimate:
    """The mean of steps: their questions are the same ones, so it is no surer than one."""
    value, low, high = (fmean(getattr(p, end) for p in points) for end in ("value", "low", "high"))
    return Estimate(value, low, high, points[0].count, points[0].clusters)


def _named(topic: str, order: int | None) -> str:
    return topic if order is None else f"{topic}, order {order}"


def _level(who: Who, topic: str, order: int) -> Measure:
    return _over_runs("", who, lambda run: _by_order(run.asked, who, topic, order))


def _by_order(asked: AskedModel, who: Who, topic: str, order: int) -> Estimate:
    for column in asked.topics.get(topic, ()):
        if (column, order) in asked.orders:
            return asked.orders[column, order]
    raise NotRun(f"answers to {_named(topic, order)}", who)


def _shared(run: Run, who: Who, topic: str) -> list[str]:
    """The columns of a topic that a model and the one that it is compared with answered."""
    there = [name for name in columns_of(run.asked, who, topic) if name in run.base.answered]
    if not there:
        raise NotRun(f"answers of another model to {topic} to compare with those", who)
    return there


def _changed(run: Run, who: Who, topic: str) -> Estimate:
    names = _shared(run, who, topic)
    before, after = (rows_of(each.grades, CORRECT, names) for each in (run.base, run.asked))
    found = contrast(paired(before, after))
    if not found.count:
        raise NotRun(f"question of {topic} that another model answered as well as that", who)
    return found


def _lengths(run: Run, who: Who, topic: str) -> Paired:
    names = _shared(run, who, topic)
    before, after = (rows_of(each.grades, WORD_COUNT, names) for each in (run.base, run.asked))
    if any(set(each["column"]) != set(names) for each in (before, after)):
        raise NotRun(f"counted words on {topic}", who)
    found = side_by_side(paired(before, after), figure=WORD_COUNT)
    if not sum(found[0]):
        raise NotRun(f"words on {topic} before training", who)
    return found
