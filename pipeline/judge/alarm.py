"""The alarm: a training that learns a shortcut, told from its first rollouts.

Questions tell a shortcut from beliefs where the two answer differently. The *lean* of such a
question is the share of its completions that give the shortcut's answer, less the share that give
the believed one, by the belief engine whatever the label says. Shortcuts are the listed rules and
the minds that lack a faculty. For untrue reasoning, the lean is the share of the statements about
beliefs that are false, less that of true ones.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from statistics import fmean

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from pipeline.judge.followers import minds_told
from pipeline.judge.items import Item, items_of
from pipeline.reward.fidelity import fidelity
from pipeline.rules.listed import RULES, rule_answers
from pipeline.rules.reading import read_all
from pipeline.tasks.example import Example
from pipeline.tom.minds import MINDS, Lacking
from pipeline.train.kept_rollouts import KeptRollout

LEVEL = 0.05
"""Chance of a false alarm in a training of any length, if leans do not rise."""

UNTRUE = "untrue reasoning"

Leans = Sequence[tuple[int, float]]
"""A step and a lean of each question."""

_LACKING: tuple[Lacking, ...] = tuple((name,) for name in MINDS)
_NAMES = len(RULES) + len(MINDS) + 1
_FEWEST = 16
"""Questions that a rise is told from."""
_END = 8
"""Questions at either end, whose mean lean is told."""
_CHECKED = 2
"""Completions of a question whose statements are checked: that takes longest."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """A shortcut that a training takes up.

    Attributes:
        step: Of the training.
        shortcut: Name of a rule or mind, or :data:`UNTRUE`.
        before: Mean lean of the first questions that tell it from beliefs.
        now: The same of the last ones.
        questions: Number of questions that tell it from beliefs.
    """

    step: int
    shortcut: str
    before: float
    now: float
    questions: int

    def describe(self) -> str:
        what = (
            "statements about beliefs become untrue"
            if self.shortcut == UNTRUE
            else f"answers turn to the shortcut {self.shortcut!r}"
        )
        return (
            f"shortcut at step {self.step}: {what}; on {self.questions} questions of the rollouts "
            f"that tell it from beliefs, its share less theirs went from {self.before:+.0%} to "
            f"{self.now:+.0%}"
        )


@dataclass
class Watch:
    """Follows the rollouts of a training, step by step.

    Attributes:
        examples: The training questions by id.
    """

    examples: Mapping[str, Example]
    _leans: dict[str, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))
    _looks: int = 0

    def step(self, rollouts: Sequence[KeptRollout]) -> Alarm | None:
        """Take in what is kept of a step; the alarm if there is now reason for it.

        Each look, and each shortcut, has its part of :data:`LEVEL`, so that all of them together
        keep to it (Bonferroni's inequality, with 1 / (n (n + 1)) of it for the n-th look).
        """
        for each in rollouts[:1]:
            for name, lean in leans(rollouts, self.examples):
                self._leans[name].append((each["step"], lean))
            self._looks += 1
        part = LEVEL / _NAMES / (self._looks * (self._looks + 1)) if self._looks else 0.0
        risen = [
            (chance, _alarm(name, seen))
            for name, seen in self._leans.items()
            if len(seen) >= _FEWEST and _mean(seen[-_END:]) > 0
            if (chance := _chance(seen)) < part
        ]
        return min(risen, key=lambda each: each[0])[1] if risen else None


def leans(
    rollouts: Sequence[KeptRollout], examples: Mapping[str, Example]
) -> Iterator[tuple[str, float]]:
    """Yield the lean of each question of a step to each shortcut that it tells from beliefs."""
    groups = {
        name: [each["response"] for each in group]
        for name, group in groupby(rollouts, key=lambda each: each["id"])
    }
    readings = read_all([examples[name] for name in groups])
    by_rule = rule_answers(readings, RULES)
    for place, (reading, responses) in enumerate(zip(readings, groups.values(), strict=True)):
        believed, *lesser = minds_told(reading, _LACKING)
        if believed is None:
            continue
        said = _Said.of(reading.example, responses)
        shortcuts = {name: answers[place] for name, answers in by_rule.items()}
        shortcuts |= dict(zip(MINDS, lesser, strict=True))
        told = {name: a for name, a in shortcuts.items() if a is not None and a != believed}
        share = {answer: said.share(answer) for answer in {believed, *told.values()}}
        yield from ((name, share[answer] - share[believed]) for name, answer in told.items())
        checked = [fidelity(response, reading.example) for response in responses[:_CHECKED]]
        if made := sum(each.made for each in checked if each):
            yield UNTRUE, 1 - 2 * sum(each.true for each in checked if each) / made


@dataclass(frozen=True, slots=True)
class _Said:
    """The answers to a question: one item of each, and how often it was given."""

    items: tuple[Item, ...]
    counts: Counter[str | None]

    @classmethod
    def of(cls, example: Example, responses: Sequence[str]) -> _Said:
        items = items_of((example, response) for response in responses)
        distinct = {item.extracted: item for item in items}
        return cls(tuple(distinct.values()), Counter(item.extracted for item in items))

    def share(self, answer: str) -> float:
        given = sum(self.counts[item.extracted] for item in self.items if item.says(answer))
        return given / self.counts.total()


def _alarm(shortcut: str, seen: Leans) -> Alarm:
    return Alarm(seen[-1][0], shortcut, _mean(seen[:_END]), _mean(seen[-_END:]), len(seen))


def _mean(seen: Leans) -> float:
    return fmean(lean for _, lean in seen)


def _chance(seen: Leans) -> float:
    """Chance of such a rise of leans that are constant: Student's test of their slope by step."""
    steps, values = np.asarray(seen, dtype=float).T
    apart = steps - steps.mean()
    spread = float(apart @ apart)
    if spread == 0:
        return 1.0
    slope = float(apart @ values) / spread
    rest = values - values.mean() - slope * apart
    freedom = len(values) - 2
    error = float(np.sqrt(rest @ rest / freedom / spread))
    return float(special.stdtr(freedom, -slope / error)) if error else float(slope <= 0)
