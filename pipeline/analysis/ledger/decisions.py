"""What is decided of a claim, by which effects, and how small an effect would have shown.

Effects are shares from 0 to 1, differences of them, or changes of a length as shares of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from scipy import special  # type: ignore[import-untyped]

from pipeline.analysis.seeds import SeedEstimate
from pipeline.evaluate.statistics import LEVEL, Estimate
from pipeline.formats.records import Record

Word = Literal["supported", "contradicted", "undecided", "not run"]
WORDS: tuple[Word, ...] = ("supported", "contradicted", "undecided", "not run")

Unit = Literal["points", "% of length", "%"]

POWER = 0.8
"""Probability with which an effect of the size that is called detectable shows."""


class NotRun(Exception):
    """Says what is missing for a decision.

    Attributes:
        what: What there is none of.
        whose: The model that it is missing of, or the topic.
    """

    def __init__(self, what: str, whose: object) -> None:
        super().__init__(f"no {what} of {whose}")
        self.what, self.whose = what, str(whose)


class Effect(Record):
    """One effect that a claim is decided by.

    Attributes:
        what: What it is, in words.
        value: Its size.
        low: Lower end of its interval.
        high: Upper end of its interval.
        detectable: The smallest one that this much data shows with probability 0.8; where two
            things are said to be equal, the smallest margin that it shows them to be equal in.
        unit: What it is counted in.
    """

    what: str
    value: float
    low: float
    high: float
    detectable: float
    unit: Unit

    def text(self) -> str:
        """It in words, with its interval."""
        signed = "" if self.unit == "%" else "+"
        value, low, high = (f"{100 * end:{signed}.1f}" for end in (self.value, self.low, self.high))
        return f"{self.what} {value} {self.unit} ({low} to {high})"


class Decision(Record):
    """What is decided.

    Attributes:
        word: ``supported``, ``contradicted``, ``undecided`` or ``not run``.
        effects: What it is decided by, the decisive ones alone.
        missing: What is missing, where it was not run, with what it is missing of.
    """

    word: Word
    effects: tuple[Effect, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        """Why: effects, what would have shown, or what is missing."""
        if self.missing:
            return self._lacking()
        said = "; ".join(effect.text() for effect in self.effects)
        if self.word != "undecided" or not self.effects:
            return said
        most = max(self.effects, key=lambda effect: effect.detectable)
        shown = f"{100 * most.detectable:.1f} {most.unit}"
        return f"{said}; with probability {POWER:g} this much data shows {shown}"

    def _lacking(self) -> str:
        whose: dict[str, list[str]] = {}
        for what, name in dict.fromkeys(self.missing):
            whose.setdefault(what, []).append(name)
        return "; ".join(f"no {what} of {', '.join(names)}" for what, names in whose.items())


def decided(word: Word, effect: Effect) -> Decision:
    """A decision by one effect."""
    return Decision(word=word, effects=(effect,))


def all_hold(parts: Sequence[Decision]) -> Decision:
    """Whether everything holds: one thing that does not is enough against it."""
    return _first_said(parts, ("contradicted", "not run", "undecided"), "supported")


def any_holds(parts: Sequence[Decision]) -> Decision:
    """Whether something holds: one thing is enough for it."""
    return _first_said(parts, ("supported", "not run", "undecided"), "contradicted")


def _first_said(parts: Sequence[Decision], words: Sequence[Word], of_all: Word) -> Decision:
    """The first word that some part says, by those that do; else the one of all of them."""
    for word in words:
        if found := [part for part in parts if part.word == word]:
            return _joined(word, found)
    return _joined(of_all, parts)


def one_at_most(parts: Sequence[Decision]) -> Decision:
    """Whether no two things hold together."""
    holding = [part for part in parts if part.word == "supported"]
    if len(holding) > 1:
        return _joined("contradicted", holding)
    open_ = [part for part in parts if part.word in ("not run", "undecided")]
    if len(holding) + len(open_) < 2:
        return _joined("supported", [part for part in parts if part.effects])
    missing = [part for part in open_ if part.word == "not run"]
    return _joined("not run", missing) if missing else _joined("undecided", open_)


def turned(part: Decision) -> Decision:
    other: dict[Word, Word] = {"supported": "contradicted", "contradicted": "supported"}
    return part.model_copy(update={"word": other.get(part.word, part.word)})


def _joined(word: Word, parts: Sequence[Decision]) -> Decision:
    return Decision(
        word=word,
        effects=tuple(effect for part in parts for effect in part.effects),
        missing=tuple(each for part in parts for each in part.missing),
    )


# --- how sure an estimate is ----------------------------------------------------------------------


def quantile(found: Estimate, share: float) -> float:
    """Student's quantile for the stories, or seeds, of an estimate."""
    return float(special.stdtrit(max(1, found.clusters - 1), share))


def standard_error(found: Estimate) -> float:
    """What the interval of an estimate says of its error."""
    return (found.high - found.low) / 2 / quantile(found, (1 + LEVEL) / 2)


def detectable(found: Estimate) -> float:
    """The smallest distance from nothing that shows with probability 0.8."""
    reach = quantile(found, (1 + LEVEL) / 2) + quantile(found, POWER)
    return reach * standard_error(found)


def equal_within(found: Estimate) -> float:
    """The smallest margin that equal things are shown to lie in, with probability 0.8."""
    reach = quantile(found, LEVEL) + quantile(found, (1 + POWER) / 2)
    return reach * standard_error(found)


def among(found: Estimate, count: int) -> Estimate:
    """An estimate whose interval allows for looking at so many of its kind (Bonferroni)."""
    if count == 1:
        return found
    return around(found, quantile(found, 1 - (1 - LEVEL) / 2 / count))


def around(found: Estimate, reach: float) -> Estimate:
    """An estimate with an interval of so many standard errors to each side."""
    error = reach * standard_error(found)
    low, high = found.value - error, found.value + error
    return Estimate(found.value, low, high, found.count, found.clusters)


def difference(one: Estimate, other: Estimate) -> Estimate:
    """One less the other, which were measured apart."""
    error = (standard_error(one) ** 2 + standard_error(other) ** 2) ** 0.5
    count, clusters = min(one.count, other.count), min(one.clusters, other.clusters)
    found = Estimate(one.value - other.value, 0.0, 0.0, count, clusters)
    reach = quantile(found, (1 + LEVEL) / 2) * error
    return Estimate(found.value, found.value - reach, found.value + reach, count, clusters)


def moved_by(found: Estimate, distance: float) -> Estimate:
    """An estimate further up or down by what is known for sure."""
    ends = (found.value + distance, found.low + distance, found.high + distance)
    return Estimate(*ends, found.count, found.clusters)


def over_seeds(found: Sequence[Estimate]) -> Estimate:
    """What one seed measured; of several their mean in Student's interval over seeds."""
    if len(found) == 1:
        return found[0]
    over = SeedEstimate.of([each.value for each in found])
    return Estimate(over.mean, over.low, over.high, found[0].count, over.seeds)
