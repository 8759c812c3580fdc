"""Verifiers of reasoning: the belief engine, and a classifier that knows words alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pipeline.evaluate.engine import Engine
from pipeline.evaluate.programs import Verifier
from pipeline.evaluate.runner import Asked, Asking, evaluate, repeated
from pipeline.reward.fidelity import fidelity
from pipeline.tasks.example import Example
from pipeline.tasks.grading import THINK_END
from pipeline.tom.recount import read_lines, truth
from pipeline.tom.retelling import Retold, retell

_WORD = re.compile(r"[\w'-]+|[^\w\s]")


def by_beliefs(example: Example, responses: Sequence[str]) -> list[float]:
    """The share of what each reasoning states that is true in the story; 0 where it states nothing.

    Statements are the lines of recounts, and claims of who believes what about the object asked
    for. The final answer is none of them.
    """
    story = retell(example.benchmark, example.story, example.question)
    return [_true_share(example, story, response) for response in responses]


def _true_share(example: Example, story: Retold | None, response: str) -> float:
    made = true = 0
    if (found := fidelity(response, example)) is not None:
        made, true = found.made, found.true
    if story is not None:
        lines = [each.line for each in read_lines(response.partition(THINK_END)[0])]
        made += sum(len(line.statements) for line in lines)
        true += sum(truth(lines, story.lines))
    return true / made if made else 0.0


def learned(engine: Engine, examples: Sequence[Example], asking: Asking, seed: int) -> Verifier:
    """A verifier that is fitted to what a model itself answers to questions with known answers."""
    (graded,) = evaluate(engine, [Asked({"demonstrations": examples}, asking)], seed=seed)
    shown = zip(repeated(examples, asking.samples), graded, strict=True)
    return Learned.fitted((e, each.response.text, each.grade.correct) for e, each in shown)


@dataclass(frozen=True)
class Learned:
    """A classifier of responses by their words, with people and places by their role in the story.

    Attributes:
        model: A scikit-learn pipeline.
    """

    model: Any

    @classmethod
    def fitted(cls, answered: Iterable[tuple[Example, str, bool]]) -> Verifier:
        """Fit it to responses, and whether each is right; all are alike if none or all are."""
        from sklearn.feature_extraction import text  # type: ignore[import-untyped]
        from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
        from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]

        found = list(answered)
        right = [each for _, _, each in found]
        if len(set(right)) < 2:
            return lambda example, responses: [0.0] * len(responses)
        words = text.CountVectorizer(analyzer=str.split, binary=True)
        model = make_pipeline(words, LogisticRegression(C=0.1, solver="liblinear"))
        model.fit([_features(example, response) for example, response, _ in found], right)
        return cls(model)

    def __call__(self, example: Example, responses: Sequence[str]) -> list[float]:
        """The probability that each response is right."""
        features = [_features(example, response) for response in responses]
        return [float(right) for _, right in self.model.predict_proba(features)]


def _features(example: Example, response: str) -> str:
    """One to three words that follow each other, each as one word."""
    called = _roles(example.benchmark, example.story, example.question)
    words = [called.get(word, word) for word in _WORD.findall(response)]
    return " ".join(
        "_".join(words[start : start + size])
        for size in (1, 2, 3)
        for start in range(len(words) - size + 1)
    )


@lru_cache(maxsize=64)
def _roles(benchmark: str, story: str, question: str) -> Mapping[str, str]:
    """What people and places of a story are called, those asked about first."""
    told = retell(benchmark, story, question)
    if told is None:
        return {}
    people = dict.fromkeys((*told.chain, *told.people))
    called = {name: f"person{number}" for number, name in enumerate(people)}
    return called | {name: f"place{number}" for number, name in enumerate(told.places)}
