"""Evidence made up for tests of claims: models that are right on given shares of questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from pipeline.analysis.along import AskedAlong
from pipeline.analysis.grades import CORRECT, WORD_COUNT, no_grades
from pipeline.analysis.ledger.evidence import AskedModel, Evidence, Rule, Run, TopicVerdict, Who
from pipeline.evaluate.records import PAIR_ACCURACY, SENSITIVITY
from pipeline.evaluate.statistics import Estimate, share
from pipeline.formats.records import Figures
from pipeline.judge.items import Item, items_of
from pipeline.tasks.example import Example
from pipeline.train.kept_rollouts import KeptRollout, table_of
from tests.analysis.made import grades

QUESTIONS = 1200
"""Of each topic, each about a story of its own."""

BASE = 0.4
"""Accuracy of base models."""


def share_of(right: float, count: int = QUESTIONS) -> Estimate:
    return share([place < right * count for place in range(count)], range(count))


def answers(
    topic: str, right: float, words: int = 100, count: int = QUESTIONS
) -> list[pd.DataFrame]:
    """So many right answers of about so many words; counterfactual pairs are right as often."""
    shares = [float(place < right * count) for place in range(count)]
    lengths = [words + place % 3 for place in range(count)]
    return [
        grades(topic, lengths, WORD_COUNT),
        *(grades(topic, shares, figure) for figure in (CORRECT, PAIR_ACCURACY, SENSITIVITY)),
    ]


def asked(
    scores: Mapping[str, float | Mapping[int, float]], words: int = 100, **more: Any
) -> AskedModel:
    """A model with an accuracy for each topic, or for each belief order of one."""
    orders = {
        (topic, order): share_of(right)
        for topic, found in scores.items()
        if not isinstance(found, float)
        for order, right in found.items()
    }
    whole = {t: found if isinstance(found, float) else BASE for t, found in scores.items()}
    return AskedModel(
        grades=pd.concat(
            [no_grades(), *(f for t, right in whole.items() for f in answers(t, right, words))]
        ),
        topics={topic: (topic,) for topic in scores},
        orders=orders,
        **more,
    )


def evidence(models: Mapping[Who, AskedModel], rules: Mapping[str, Rule] | None = None) -> Evidence:
    """Models beside their base models, where these are among them."""
    runs = {who: [Run(models.get(Who(who.model), each), each)] for who, each in models.items()}
    return Evidence(runs, rules or {})


def shifted(
    whos: Iterable[Who],
    by: float,
    *topics: str,
    order: int | None = None,
    words: tuple[int, int] = (100, 100),
) -> Evidence:
    """Trained models that are better than their base models by so much."""
    models: dict[Who, AskedModel] = {}
    for who in whos:
        for each, right, length in ((Who(who.model), BASE, 0), (who, BASE + by, 1)):
            scores = {t: right if order is None else {order: right} for t in topics}
            models[each] = asked(scores, words[length])
    return evidence(models)


def levels(topic: str, scores: Mapping[Who, float | Mapping[int, float]]) -> Evidence:
    """Models of given accuracies on one topic."""
    return evidence({who: asked({topic: right}) for who, right in scores.items()})


def lengths(words: Mapping[Who, int]) -> Evidence:
    """Models after training, all from base models of a hundred words."""
    bases = {Who(who.model): asked({"hi_tom": BASE}) for who in words}
    return evidence({**bases, **{w: asked({"hi_tom": BASE}, n) for w, n in words.items()}})


def curved(who: Who, metric: str, values: Sequence[float]) -> Evidence:
    """A model by the course of a metric."""
    curve: list[Figures] = [
        {"step": step, metric: value + step % 2} for step, value in enumerate(values)
    ]
    return evidence({who: asked({}, curve=curve)})


def asked_along(course: Sequence[float]) -> AskedAlong:
    """Answers to one column by its accuracy at each step, the base model first."""
    right = [[place < share * QUESTIONS for place in range(QUESTIONS)] for share in course]
    return AskedAlong(range(len(course)), right, [str(place) for place in range(QUESTIONS)])


def along(courses: Mapping[Who, Mapping[str, Sequence[float]]]) -> Evidence:
    """Models by accuracy on topics along their training, the base model first."""
    models: dict[Who, AskedModel] = {}
    for who, topics in courses.items():
        found = {topic: asked_along(course) for topic, course in topics.items()}
        models[who] = AskedModel(no_grades(), {topic: (topic,) for topic in topics}, along=found)
    return evidence(models)


def verdicts(found: Mapping[Who, TopicVerdict], by: float = 0.3) -> Evidence:
    """Models by the verdict on Hi-ToM; trained ones are better by so much."""
    models: dict[Who, AskedModel] = {}
    for who, each in found.items():
        models[Who(who.model)] = models.get(Who(who.model)) or asked({"hi_tom": BASE})
        right = BASE + (by if who.data else 0)
        models[who] = asked({"hi_tom": right}, judged={"hi_tom": each})
    return evidence(models)


STORY = (
    "Ann, Bob and Cleo entered the hall.\nThe hat is in the red_box.\nBob exited the hall.\n"
    "Ann moved the hat to the blue_jar.\nCleo exited the hall.\nAnn moved the hat to the tin_{}."
)
ASKED = "Where does Cleo think Bob thinks the hat is?"
"""Bob left first: the answer is where it was then, as the rule of the earliest exit says."""


def items(response: str, golds: Sequence[str] = ("red_box",) * 200) -> list[Item]:
    """Responses to a question about a story for each gold answer, which stands for GOLD."""
    return items_of(
        (
            Example("hi_tom", "hi_tom", STORY.format(place), ASKED, gold, order=2),
            response.replace("GOLD", gold),
        )
        for place, gold in enumerate(golds)
    )


def saying(responses: Mapping[Who, str], *golds: str) -> Evidence:
    """Models that answer the same to everything, or the gold answers, whatever these are."""
    found = {who: items(said, golds) if golds else items(said) for who, said in responses.items()}
    return evidence({who: asked({}, said={"hi_tom": each}) for who, each in found.items()})


def sampling(
    whose: Iterable[Who], first: str = "so", last: str = "so", longer: float = 1.0
) -> Evidence:
    """Models by what they sample: early and late, and right by how much longer than wrong."""
    found = rollouts(first, last, longer)
    return evidence({who: asked({}, rollouts=found) for who in whose})


def rollouts(first: str, last: str, longer: float) -> pd.DataFrame:
    """Two completions of eight prompts in each of thirty steps, one of them right."""
    return table_of(
        [
            KeptRollout(
                step=step,
                id=f"{step % 3} {prompt}",
                tokens=round((100 + prompt) * (longer if right else 1)),
                finished=True,
                right=right,
                reward=float(right),
                response=first if step <= 15 else last,
            )
            for step in range(1, 31)
            for prompt in range(8)
            for right in (True, False)
        ]
    )


def both(one: Evidence, other: Evidence) -> Evidence:
    """The models of one evidence, then of the other those that are not in it."""
    return replace(one, runs={**other.runs, **one.runs})
