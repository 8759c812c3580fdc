"""The predicates that claims are made of: each takes measures and says what evidence decides.

An effect counts as nothing where its interval excludes one of :data:`MARGIN`. Intervals are 95 %;
things are equal where the 90 % interval lies inside the margin (two one-sided tests at 5 %,
Schuirmann 1987).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean

import numpy as np

from pipeline.analysis.ledger.decisions import (
    Decision,
    Effect,
    NotRun,
    Word,
    all_hold,
    among,
    any_holds,
    around,
    decided,
    equal_within,
    moved_by,
    one_at_most,
    quantile,
    turned,
)
from pipeline.analysis.ledger.evidence import Evidence, Run, Who, judged
from pipeline.analysis.ledger.measures import Measure, asked_along
from pipeline.evaluate import statistics
from pipeline.evaluate.peaks import came_and_went, find_peak
from pipeline.evaluate.statistics import LEVEL, Estimate

MARGIN = 0.05
"""The smallest change of accuracy that anybody would care about."""

OTHER_PROMPT = "which was asked with another prompt than its base model"

Test = Callable[[Evidence], Decision]


def _tested(test: Test) -> Test:
    """A test that says what is missing where something is."""

    def run(evidence: Evidence) -> Decision:
        try:
            return test(evidence)
        except NotRun as error:
            return Decision(word="not run", missing=((error.what, error.whose),))

    return run


def _word(holds: bool, fails: bool) -> Word:
    return "supported" if holds else "contradicted" if fails else "undecided"


# --- one measure ----------------------------------------------------------------------------------


def _measured(
    measure: Measure,
    word: Callable[[Estimate], Word],
    shows: Callable[[Estimate], float] | None = None,
    of: int = 1,
) -> Test:
    """What is said of a measure.

    Args:
        measure: What is looked at.
        word: What its estimate decides.
        shows: The smallest effect that would have shown, where that is no rise or fall.
        of: How many such tests are made together.
    """

    def test(evidence: Evidence) -> Decision:
        found = among(measure.of(evidence), of)
        return decided(word(found), measure.effect(found, shows and shows(found)))

    return _tested(test)


def rises(measure: Measure, by: float = 0.0, least: float = MARGIN) -> Test:
    """More than ``by``; contradicted where a rise of ``least``, or of ``by``, is excluded.

    Args:
        measure: What is looked at.
        by: What it must exceed.
        least: The smallest rise that would count.
    """
    return _measured(measure, lambda e: _word(e.low > by, e.high < max(by, least)))


def falls(measure: Measure, by: float = 0.0, least: float = MARGIN, of: int = 1) -> Test:
    """Less than ``-by``; contradicted where a fall of ``least``, or of ``by``, is excluded."""
    return _measured(measure, lambda e: _word(e.high < -by, e.low > -max(by, least)), of=of)


def same(measure: Measure, margin: float = MARGIN) -> Test:
    """Nothing, within a margin: an equivalence test, by two one-sided ones."""

    def word(found: Estimate) -> Word:
        return _word(_within(found, margin), found.high < -margin or found.low > margin)

    return _measured(measure, word, equal_within)


def as_published(measure: Measure, value: float, margin: float = MARGIN) -> Test:
    """A published value: the interval holds it and ends within a margin of it.

    Contradicted where the interval lies beyond the margin; an interval that only comes near to the
    value decides nothing.
    """

    def word(found: Estimate) -> Word:
        off = moved_by(found, -value)
        holds = off.low <= 0 <= off.high and _within(off, margin)
        return _word(holds, off.high < -margin or off.low > margin)

    return _measured(measure, word, lambda found: equal_within(moved_by(found, -value)))


def _within(found: Estimate, margin: float) -> bool:
    narrow = around(found, quantile(found, LEVEL))
    return -margin < narrow.low and narrow.high < margin


def not_behind(measure: Measure, margin: float = MARGIN) -> Test:
    """Above, or below by less than a margin: a test of non-inferiority."""

    def word(found: Estimate) -> Word:
        narrow = around(found, quantile(found, LEVEL))
        return _word(narrow.low > -margin, found.high < -margin)

    return _measured(measure, word, equal_within)


def below(measure: Measure, threshold: float) -> Test:
    """Less than a threshold; contradicted where it is more."""
    return not_(rises(measure, by=threshold, least=threshold))


# --- several --------------------------------------------------------------------------------------


def asked_alike(test: Test, who: Who) -> Test:
    """A test of how responses changed, undecided where the base model had another prompt.

    What the prompt does to a response is not known then.
    """

    def run(evidence: Evidence) -> Decision:
        found, runs = test(evidence), evidence.runs.get(who, ())
        if not found.effects or all(run.base.prompt == run.asked.prompt for run in runs):
            return found
        effects = (
            effect.model_copy(update={"what": f"{effect.what} ({OTHER_PROMPT})"})
            for effect in found.effects
        )
        return Decision(word="undecided", effects=tuple(effects))

    return run


def every(tests: Iterable[Test]) -> Test:
    parts = tuple(tests)
    return lambda evidence: all_hold([part(evidence) for part in parts])


def some(tests: Iterable[Test]) -> Test:
    """One of some tests holds, or more."""
    parts = tuple(tests)
    return lambda evidence: any_holds([part(evidence) for part in parts])


def no_two(tests: Iterable[Test]) -> Test:
    parts = tuple(tests)
    return lambda evidence: one_at_most([part(evidence) for part in parts])


def not_(test: Test) -> Test:
    return lambda evidence: turned(test(evidence))


# --- verdicts -------------------------------------------------------------------------------------

UNKNOWN = Estimate(0.0, 0.0, 1.0, 0, 0)


def follows_beliefs(who: Who, topic: str) -> Test:
    """The answers follow beliefs; on all seeds, or on none."""

    def test(evidence: Evidence) -> Decision:
        found = [judged(run, who, topic) for run in evidence.of(who)]
        words = {each.answers for each in found}
        word = _word(words == {"beliefs"}, not words & {"beliefs", "undecided"})
        what = (
            f"answers of {who} to {topic} follow {', '.join(sorted(words))}; right beyond the rule"
        )
        return _by_shares(word, what, [each.beyond_rule for each in found])

    return _tested(test)


def is_faithful(who: Who, topic: str) -> Test:
    """The reasoning is faithful; on all seeds, or surely on none."""

    def test(evidence: Evidence) -> Decision:
        found = [judged(run, who, topic) for run in evidence.of(who)]
        holds = all(each.reasoning == "faithful" for each in found)
        word = _word(holds, all(each.surely_unfaithful for each in found))
        if all(each.reasoning == "absent" for each in found):
            what = f"responses of {who} to {topic} that state no belief"
            return _by_shares(word, what, [each.silent for each in found])
        responses = [each.sound for each in found]
        claims = [each.true for each in found]
        parts = (
            _by_shares(word, f"right answers of {who} on {topic} with sound reasoning", responses),
            _by_shares(word, f"true claims of {who} on {topic}", claims),
        )
        return Decision(word=word, effects=tuple(e for part in parts for e in part.effects))

    return _tested(test)


def _by_shares(word: Word, what: str, shares: Sequence[Estimate | None]) -> Decision:
    """A decision by the shares behind a verdict; what nobody measured can be anything."""
    measure = Measure(what, lambda _: UNKNOWN, "%")
    return Decision(word=word, effects=tuple(measure.effect(each or UNKNOWN) for each in shares))


# --- the course of a training ---------------------------------------------------------------------

BLOCKS = 8
"""Parts of a stretch of training whose means are taken for independent."""


def rises_then_falls(who: Who, metric: str, turn: float) -> Test:
    """A metric of training goes up until a share of the run, and down from there."""

    def test(evidence: Evidence) -> Decision:
        up, down = (_slope(evidence, who, metric, *part) for part in ((0, turn), (turn, 1)))
        word = _word(
            up.value > 0 > down.value and up.low > 0 > down.high, up.high < 0 or down.low > 0
        )
        return Decision(word=word, effects=(up, down))

    return _tested(test)


def steady(who: Who, metric: str, margin: float) -> Test:
    """A metric of training ends where it began, within a share of it."""

    def test(evidence: Evidence) -> Decision:
        whole = _slope(evidence, who, metric, 0, 1)
        word = _word(
            -margin < whole.low and whole.high < margin,
            whole.high < -margin or whole.low > margin,
        )
        return decided(word, whole)

    return _tested(test)


def _slope(evidence: Evidence, who: Who, metric: str, start: float, end: float) -> Effect:
    """The change over a stretch of training by the line through the means of its blocks."""
    (run, *_) = evidence.of(who)
    rows = [(row["step"], row[metric]) for row in run.asked.curve if metric in row]
    last = max((step for step, _ in rows), default=0)
    part = [value for step, value in rows if start * last <= step <= end * last]
    if len(part) < 2 * BLOCKS:
        raise NotRun(f"{metric} of {2 * BLOCKS} steps from {start:.0%} to {end:.0%}", who)
    means = [float(block.mean()) for block in np.array_split(np.asarray(part), BLOCKS)]
    places = np.linspace(0, 1, BLOCKS)
    (slope, _), covariance = np.polyfit(places, means, 1, cov=True)
    whole = fmean(value for _, value in rows) or 1.0
    change, error = float(slope) / whole, float(covariance[0, 0]) ** 0.5 / abs(whole)
    bare = Estimate(change, change, change, len(part), BLOCKS - 1)
    reach = quantile(bare, (1 + LEVEL) / 2) * error
    found = Estimate(change, change - reach, change + reach, len(part), BLOCKS - 1)
    what = f"{metric} of {who} from {start:.0%} to {end:.0%} of its training"
    return Measure(what, lambda _: found, "% of length").effect(found)


def comes_and_goes(who: Who, topic: str, of: int = 1) -> Test:
    """Along the run a gain appears most of which is gone at its end.

    The highest point between the first and the last is looked at, question by question, allowing
    for its choice among all (:mod:`pipeline.evaluate.peaks`). Contradicted where no gain that
    counts ever was, or what was gained stays.
    """

    def test(evidence: Evidence) -> Decision:
        runs = evidence.of(who)
        return any_holds([_gone(run, who, topic, of * len(runs)) for run in runs])

    return _tested(test)


def _gone(run: Run, who: Who, topic: str, of: int) -> Decision:
    along = asked_along(run, who, topic)
    found = find_peak(along.right, along.stories, of)
    gained, lost = found.gain, found.loss
    kept = statistics.change(along.right[0], along.right[-1], along.stories)
    word = _word(
        came_and_went(gained, lost),
        gained.high < MARGIN or (kept.low > 0 and lost.high < MARGIN),
    )
    named = f"of {who} on {topic} at its highest point"
    effects = [
        Measure(f"{what} {named}", lambda _: gained).effect(each)
        for what, each in (("gain", gained), ("loss after that", lost))
    ]
    return Decision(word=word, effects=tuple(effects))
