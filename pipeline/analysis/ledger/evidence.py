"""What claims are decided by: models, how they were trained, and what they answered.

A claim speaks of topics (``hi_tom``, ``opentom``), not of the columns of one study: what columns a
study has of a topic is looked up when the evidence is built.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import pandas as pd

from pipeline.analysis.along import AskedAlong
from pipeline.analysis.ledger.decisions import NotRun
from pipeline.evaluate.statistics import Estimate
from pipeline.formats.records import Figures
from pipeline.judge.items import Item
from pipeline.judge.reasoning import ENOUGH_TRUE, MAJORITY
from pipeline.train.kept_rollouts import table_of

TRAINED, OTHERS = "trained columns", "other columns"
"""Topics that differ by what a model was trained on."""


NAMES = {
    "qwen25-05b": "0.5B",
    "qwen25-15b": "1.5B",
    "qwen25-3b": "3B",
    "qwen25-7b": "7B",
    "qwen25-7b-1m": "7B-1M",
}
"""What people call the models that both papers train, by key in the studies."""

NEVER_TRAINED = {"gpt-4o": "GPT-4o", "gpt-4o-mini": "GPT-4o-mini", "deepseek-v3": "DeepSeek-v3"}
"""The same of models behind an address."""


class Who(NamedTuple):
    """Models that a claim speaks of.

    Attributes:
        model: Key of the model in the studies.
        data: What it was trained on; empty for the base model.
        way: How: the algorithm, and what is unusual; of a base model how it was asked.
    """

    model: str
    data: str = ""
    way: str = ""

    def __str__(self) -> str:
        if self.model in NEVER_TRAINED:
            return NEVER_TRAINED[self.model]
        name = NAMES.get(self.model, self.model)
        if self.data:
            return f"{name} after {self.way} on {self.data}"
        return f"{name} asked {self.way}" if self.way else f"{name} base"


class TopicVerdict(NamedTuple):
    """The verdict on the answers to one topic.

    Attributes:
        answers: What they follow.
        reasoning: What the reasoning is.
        beyond_rule: Share that is right where the best rule is wrong, if that is known.
        true: Share of the claims that are true, if there are any.
        silent: Share of the responses that state nothing, if that is known.
        sound: Share of the right answers whose reasoning states what decides, and nothing false.
    """

    answers: str
    reasoning: str
    beyond_rule: Estimate | None = None
    true: Estimate | None = None
    silent: Estimate | None = None
    sound: Estimate | None = None

    @property
    def surely_unfaithful(self) -> bool:
        """Whether faithful reasoning is excluded, not only unproven."""
        if self.reasoning == "absent":
            return True
        bounds = ((self.true, ENOUGH_TRUE), (self.sound, MAJORITY))
        short = any(share is not None and share.high < least for share, least in bounds)
        return self.reasoning == "unfaithful" and short


@dataclass(frozen=True, slots=True)
class Rule:
    """What needs no model.

    Attributes:
        best: Accuracy of the best rule.
        blind: Accuracy of the better one of chance and the most common answer; None where nobody
            looked.
        count: Questions.
        kinds: The same on the questions of each kind, where they were looked at.
    """

    best: float
    blind: float | None
    count: int
    kinds: tuple[Rule, ...] = ()


@dataclass(frozen=True)
class AskedModel:
    """One model, and what it answered.

    Attributes:
        grades: What was answered, see :mod:`pipeline.analysis.grades`.
        topics: The columns of each topic.
        orders: Accuracy by column and belief order.
        judged: Verdicts by topic.
        said: What was answered to the questions of some topics.
        curve: How its training went, the base model first.
        rollouts: What is kept of those of its training.
        along: Answers along its training, by column, where its steps were asked.
        prompt: The prompt that it was asked with; empty where that is not known.
    """

    grades: pd.DataFrame
    topics: Mapping[str, Sequence[str]]
    orders: Mapping[tuple[str, int], Estimate] = field(default_factory=dict)
    judged: Mapping[str, TopicVerdict] = field(default_factory=dict)
    said: Mapping[str, Sequence[Item]] = field(default_factory=dict)
    curve: Sequence[Figures] = ()
    rollouts: pd.DataFrame = field(default_factory=table_of)
    along: Mapping[str, AskedAlong] = field(default_factory=dict)
    prompt: str = ""

    @cached_property
    def answered(self) -> frozenset[str]:
        return frozenset(self.grades["column"].unique())


class Run(NamedTuple):
    """One model, and the base model that it was trained from; twice the same if it was not."""

    base: AskedModel
    asked: AskedModel


@dataclass(frozen=True)
class Evidence:
    """All that is known of some models.

    Attributes:
        runs: Their runs, one for each seed.
        rules: What needs no model, by topic.
        several: Those that a study trains in several ways which no claim tells apart.
        absent: Why a model has no results, where that is known.
    """

    runs: Mapping[Who, Sequence[Run]]
    rules: Mapping[str, Rule] = field(default_factory=dict)
    several: frozenset[Who] = frozenset()
    absent: Mapping[str, str] = field(default_factory=dict)

    def of(self, who: Who) -> Sequence[Run]:
        """The runs of a model.

        Raises:
            NotRun: If there are none.
        """
        if who in self.several:
            raise NotRun("single way of training", who)
        if not self.runs.get(who):
            why = self.absent.get(who.model)
            raise NotRun("results", f"{who} ({why})" if why else who)
        return self.runs[who]

    def rule(self, topic: str) -> Rule:
        """What rules score on a topic.

        Raises:
            NotRun: If that is not known.
        """
        if topic not in self.rules:
            raise NotRun("rules", topic)
        return self.rules[topic]


def columns_of(asked: AskedModel, who: Who, topic: str) -> Sequence[str]:
    """The columns of a topic that a model answered.

    Raises:
        NotRun: If there are none.
    """
    found = [name for name in asked.topics.get(topic, ()) if name in asked.answered]
    if not found:
        raise NotRun(f"answers to {topic}", who)
    return found


def said(run: Run, who: Who, topic: str) -> Sequence[Item]:
    """What a model answered to a topic.

    Raises:
        NotRun: If nobody kept it.
    """
    if not run.asked.said.get(topic):
        raise NotRun(f"responses to {topic}", who)
    return run.asked.said[topic]


def judged(run: Run, who: Who, topic: str) -> TopicVerdict:
    """The verdict on a topic.

    Raises:
        NotRun: If there is none.
    """
    if topic not in run.asked.judged:
        raise NotRun(f"verdict on {topic}", who)
    return run.asked.judged[topic]
