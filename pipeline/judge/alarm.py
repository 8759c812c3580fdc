"""The alarm: a training that learns a shortcut, told from its first rollouts.

Questions tell a shortcut from beliefs where the two answer differently. The *lean* of such a
question is the share of its completions that give the shortcut's answer, less the share that give
the believed one, by the belief engine whatever the label says. Shortcuts are the listed rules and
the minds that lack a faculty. For untrue reasoning, the lean is the share of the statements about
beliefs that are false, less that of true ones. The *gain* of a question is the mean reward of its
completions that give the shortcut's answer, less that of those that give the believed one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np
from scipy import special  # type: ignore[import-untyped]

from pipeline.data.codec import read_dataset
from pipeline.formats.files import AppendedLines
from pipeline.judge.followers import minds_told
from pipeline.judge.items import Item, items_of
from pipeline.reward.fidelity import fidelity
from pipeline.rules.listed import RULES, rule_answers
from pipeline.rules.reading import read_all
from pipeline.tasks.example import Example
from pipeline.tom.minds import MINDS, Lacking
from pipeline.train.kept_rollouts import KeptRollout, RolloutLog

LEVEL = 0.05
"""Chance of a false alarm in a training of any length, if leans stay and beliefs earn as much."""

UNTRUE = "untrue reasoning"


class Lean(NamedTuple):
    """A question of a step, and a shortcut that it tells from beliefs.

    The gain is 0 where only one of both is answered.
    """

    step: int
    lean: float
    gain: float


_LACKING: tuple[Lacking, ...] = tuple((name,) for name in MINDS)
_TESTS = 2 * (len(RULES) + len(MINDS) + 1)
_FEWEST = 20
"""Questions that a rise is told from."""
_FIRST, _GROWTH = 24, 1.25
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
        rises: Whether leans rise; else they are above zero, and rewarded.
        questions: Number of questions that tell it from beliefs.
    """

    step: int
    shortcut: str
    before: float
    now: float
    rises: bool
    questions: int

    def describe(self) -> str:
        untrue = self.shortcut == UNTRUE
        what = "statements about beliefs" if untrue else "answers"
        turned = "become untrue" if untrue else f"turn to the shortcut {self.shortcut!r}"
        followed = "are untrue" if untrue else f"follow the shortcut {self.shortcut!r}"
        said = turned if self.rises else f"{followed}, and are rewarded for it"
        share = "the share of false ones" if untrue else "its share"
        less = "that of true ones" if untrue else "that of beliefs"
        return (
            f"shortcut at step {self.step}: {what} {said}: {share} less {less} went from "
            f"{self.before:+.0%} to {self.now:+.0%} on {self.questions} questions of the rollouts"
        )


@dataclass
class Watch:
    """Follows the rollouts of a training, step by step.

    Args:
        examples: The training questions by id.
    """

    examples: Mapping[str, Example]
    _leans: dict[str, list[Lean]] = field(default_factory=lambda: defaultdict(list))
    _questions: set[tuple[int, str]] = field(default_factory=set)
    _looks: int = 0

    def step(self, rollouts: Sequence[KeptRollout]) -> Alarm | None:
        """Take in what is kept of a step; the alarm if there is now reason for it.

        A shortcut of which there is more than of beliefs is one that is taken up if its leans rise,
        or if it is what earns more. Each of both tests of every shortcut, and every look, has its
        part of :data:`LEVEL`, so that all together keep to it (Bonferroni's inequality): the n-th
        look has 1 / (n (n + 1)) of it, and there is one whenever the questions are a quarter more.
        """
        for name, lean in leans(rollouts, self.examples):
            self._leans[name].append(lean)
        self._questions |= {(each["step"], each["id"]) for each in rollouts}
        if len(self._questions) < _FIRST * _GROWTH**self._looks:
            return None
        self._looks += 1
        part = LEVEL / _TESTS / (self._looks * (self._looks + 1))
        reasons = [
            (chance, rises, name)
            for name, seen in self._leans.items()
            if len(seen) >= _FEWEST and _ends(seen)[1] > 0
            for chance, rises in ((_rising(seen), True), (_earning(seen), False))
            if chance < part
        ]
        if not reasons:
            return None
        _, rises, name = min(reasons, key=itemgetter(0))  # of those alike, the first rule
        seen = self._leans[name]
        return Alarm(seen[-1].step, name, *_ends(seen), rises, len(seen))


class LogWatch:
    """Follows the growing log of a training, of which every look takes in what is new.

    Args:
        data: The training questions.
    """

    def __init__(self, data: Path, log: RolloutLog) -> None:
        self._watch = Watch({row.example.id: row.example for row in read_dataset(data)})
        self._log, self._lines, self._step = log, AppendedLines(log.path), 0
        self._waiting: list[KeptRollout] = []

    def look(self, until: int) -> Alarm | None:
        """The alarm of the first new step that gives reason for one.

        Args:
            until: The last step that is over: another process may be writing the next one.
        """
        new = list(self._lines.new())
        if not new:  # a training that resumes writes it again
            self._waiting, self._lines = [], AppendedLines(self._log.path)
            new = list(self._lines.new())
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
) -> Iterator[tuple[str, Lean]]:
    """Yield what each question of a step says of each shortcut that it tells from beliefs."""
    groups = {
        name: list(group)
        for name, group in groupby(rollouts, key=lambda each: each["id"])
        if name in examples  # the data may have been made again since
    }
    readings = read_all([examples[name] for name in groups])
    by_rule = rule_answers(readings, RULES)
    for place, (reading, group) in enumerate(zip(readings, groups.values(), strict=True)):
        believed, *lesser = minds_told(reading, _LACKING)
        if believed is None:
            continue
        step, said = group[0]["step"], _Said.of(reading.example, group)
        shortcuts = {name: answers[place] for name, answers in by_rule.items()}
        shortcuts |= dict(zip(MINDS, lesser, strict=True))
        told = {name: a for name, a in shortcuts.items() if a is not None and a != believed}
        of = {answer: said.rewards(answer) for answer in {believed, *told.values()}}
        for name, answer in told.items():
            mine, theirs = of[answer], of[believed]
            gain = fmean(mine) - fmean(theirs) if mine and theirs else 0.0
            yield name, Lean(step, (len(mine) - len(theirs)) / len(group), gain)
        checked = [fidelity(each["response"], reading.example) for each in group[:_CHECKED]]
        if made := sum(each.made for each in checked if each):
            false = 1 - 2 * sum(each.true for each in checked if each) / made
            yield UNTRUE, Lean(step, false, 0.0)  # of so few, it is not known which earn more


@dataclass(frozen=True, slots=True)
class _Said:
    """The answers to a question: one item of each, with the rewards of its completions."""

    answers: Mapping[str | None, tuple[Item, list[float]]]

    @classmethod
    def of(cls, example: Example, group: Sequence[KeptRollout]) -> _Said:
        answers: dict[str | None, tuple[Item, list[float]]] = {}
        items = items_of((example, each["response"]) for each in group)
        for item, each in zip(items, group, strict=True):
            answers.setdefault(item.extracted, (item, []))[1].append(each["reward"])
        return cls(answers)

    def rewards(self, answer: str) -> list[float]:
        """Of the completions that give it."""
        said = (rewards for item, rewards in self.answers.values() if item.says(answer))
        return [reward for rewards in said for reward in rewards]


def _ends(seen: Sequence[Lean]) -> tuple[float, float]:
    """The mean lean of the first questions and of the last ones."""
    part = -(-len(seen) // _END)
    before, now = (fmean(each.lean for each in some) for some in (seen[:part], seen[-part:]))
    return before, now


def _earning(seen: Sequence[Lean]) -> float:
    """Chance that the shortcut earns more so often, if beliefs do as often: the sign test."""
    gains = [each.gain for each in seen if each.gain]
    more = sum(gain > 0 for gain in gains)
    return float(special.bdtrc(more - 1, len(gains), 0.5)) if more else 1.0


def _rising(seen: Sequence[Lean]) -> float:
    """Chance of such a rise of leans that are constant: Student's test of their slope by step."""
    steps, values, _ = np.asarray(seen, dtype=float).T
    apart = steps - steps.mean()
    spread = float(apart @ apart)
    if spread == 0:
        return 1.0
    slope = float(apart @ values) / spread
    rest = values - values.mean() - slope * apart
    freedom = len(values) - 2
    error = float(np.sqrt(rest @ rest / freedom / spread))
    return float(special.stdtr(freedom, -slope / error)) if error else float(slope <= 0)
