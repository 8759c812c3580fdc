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
from operator import itemgetter
from pathlib import Path
from statistics import fmean

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from pipeline.data.codec import read_dataset
from pipeline.judge.followers import minds_told
from pipeline.judge.items import Item, items_of
from pipeline.reward.fidelity import fidelity
from pipeline.rules.listed import RULES, rule_answers
from pipeline.rules.reading import read_all
from pipeline.tasks.example import Example
from pipeline.tom.minds import MINDS, Lacking
from pipeline.train.kept_rollouts import KeptRollout, RolloutLog

LEVEL = 0.05
"""Chance of a false alarm in a training of any length, if leans do not rise."""

UNTRUE = "untrue reasoning"

Leans = Sequence[tuple[int, float]]
"""A step and a lean of each question."""

_LACKING: tuple[Lacking, ...] = tuple((name,) for name in MINDS)
_NAMES = len(RULES) + len(MINDS) + 1
_FEWEST = 12
"""Questions that a rise is told from."""
_FIRST, _GROWTH = 24, 1.5
"""Questions of all kinds at the first look, and how many times as many at each next one."""
_END = 4
"""The mean lean of the first part of so many is told beside that of the last."""
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
            "statements about beliefs become untrue: the share of false ones less that of true ones"
            if self.shortcut == UNTRUE
            else f"answers turn to the shortcut {self.shortcut!r}: its share less that of beliefs"
        )
        return (
            f"shortcut at step {self.step}: {what} went from {self.before:+.0%} to {self.now:+.0%} "
            f"on {self.questions} questions of the rollouts"
        )


@dataclass
class Watch:
    """Follows the rollouts of a training, step by step.

    Args:
        examples: The training questions by id.
    """

    examples: Mapping[str, Example]
    _leans: dict[str, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))
    _questions: set[tuple[int, str]] = field(default_factory=set)
    _looks: int = 0

    def step(self, rollouts: Sequence[KeptRollout]) -> Alarm | None:
        """Take in what is kept of a step; the alarm if there is now reason for it.

        Every shortcut, and every look, has its part of :data:`LEVEL`, so that all together keep to
        it (Bonferroni's inequality): the n-th look has 1 / (n (n + 1)) of it, and there is one
        whenever the questions are half as many again.
        """
        for name, lean in leans(rollouts, self.examples):
            self._leans[name].append((rollouts[0]["step"], lean))
        self._questions |= {(each["step"], each["id"]) for each in rollouts}
        if len(self._questions) < _FIRST * _GROWTH**self._looks:
            return None
        self._looks += 1
        part = LEVEL / _NAMES / (self._looks * (self._looks + 1))
        risen = [
            (chance, name)
            for name, seen in self._leans.items()
            if len(seen) >= _FEWEST and _ends(seen)[1] > 0
            if (chance := _chance(seen)) < part
        ]
        if not risen:
            return None
        _, name = min(risen, key=itemgetter(0))  # of those that answer alike, the first rule
        return _alarm(name, self._leans[name])


class LogWatch:
    """Follows the growing log of a training, of which every look takes in what is new.

    Args:
        data: The training questions.
    """

    def __init__(self, data: Path, log: RolloutLog) -> None:
        self._watch = Watch({row.example.id: row.example for row in read_dataset(data)})
        self._log, self._end, self._step = log, 0, 0
        self._waiting: list[KeptRollout] = []

    def look(self, until: int) -> Alarm | None:
        """The alarm of the first new step that gives reason for one.

        Args:
            until: The last step that is over: another process may be writing the next one.
        """
        new, self._end = self._log.since(self._end)
        if not new:  # a training that resumes writes it again
            self._waiting = []
            new, self._end = self._log.since(0)
        self._waiting += [each for each in new if each["step"] > self._step]
        due = [each for each in self._waiting if each["step"] <= until]
        self._waiting = self._waiting[len(due) :]
        alarm = None
        for step, rollouts in groupby(due, key=lambda each: each["step"]):
            alarm = alarm or self._watch.step(list(rollouts))
            self._step = step
        return alarm


def alarm_of(rollouts: Sequence[KeptRollout], examples: Mapping[str, Example]) -> Alarm | None:
    """The first alarm of a whole training."""
    watch = Watch(examples)
    steps = groupby(rollouts, key=lambda each: each["step"])
    return next((alarm for _, some in steps if (alarm := watch.step(list(some)))), None)


def leans(
    rollouts: Sequence[KeptRollout], examples: Mapping[str, Example]
) -> Iterator[tuple[str, float]]:
    """Yield the lean of each question of a step to each shortcut that it tells from beliefs."""
    groups = {
        name: [each["response"] for each in group]
        for name, group in groupby(rollouts, key=lambda each: each["id"])
        if name in examples  # the data may have been made again since
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
    return Alarm(seen[-1][0], shortcut, *_ends(seen), len(seen))


def _ends(seen: Leans) -> tuple[float, float]:
    """The mean lean of the first questions and of the last ones."""
    part = -(-len(seen) // _END)
    before, now = (fmean(lean for _, lean in some) for some in (seen[:part], seen[-part:]))
    return before, now


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
