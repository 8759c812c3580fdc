"""Asking a model for the log-likelihoods of options, beside the answers that it writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Protocol

from pipeline.evaluate.engine import Prompt
from pipeline.evaluate.options import Scored, options_of
from pipeline.evaluate.runner import Asked, Graded, prompts_of
from pipeline.tasks.grading import ANSWER_START

Choice = tuple[Prompt, tuple[str, ...]]
"""A prompt, and texts one of which may follow."""

SCORED_AT_ONCE = 16
"""Prompts whose options are scored together."""


class Likelihoods(Protocol):
    """An engine that says how likely given texts are."""

    def log_likelihoods(
        self, choices: Sequence[Choice], report: Callable[[int], None]
    ) -> list[tuple[float, ...]]:
        """Of each text of each choice, in nats; none where the model has no room for a prompt."""
        ...


def choices_of(asked: Asked) -> dict[int, Choice]:
    """What to ask of the questions that have options, by their places among all.

    Options follow an empty thought and the tag that opens an answer, where the prompt asks for
    tags.
    """
    options = chain.from_iterable(map(options_of, asked.columns.values()))
    asking = replace(asked.asking, think=False, samples=1)
    prompts = prompts_of(asked.examples, asking, seed=0)
    return {
        place: (replace(prompt, begun=prompt.begun and prompt.begun + ANSWER_START), each)
        for place, (prompt, each) in enumerate(zip(prompts, options, strict=True))
        if each is not None
    }


def with_scores(
    asked: Asked,
    graded: Sequence[Graded],
    choices: Mapping[int, Choice],
    found: Sequence[tuple[float, ...]],
) -> list[Graded]:
    """Answers with what was found of the options of their questions, at the first of each."""
    examples, result = asked.examples, list(graded)
    for (place, (_, options)), logprobs in zip(choices.items(), found, strict=True):
        first = place * asked.asking.samples
        scored = Scored(options, logprobs, examples[place].answer)
        result[first] = replace(result[first], scored=scored)
    return result


def batches(choices: Sequence[Choice]) -> list[list[int]]:
    """The places of choices that are scored together: of as many texts, of similar length."""

    def size(place: int) -> tuple[int, int]:
        prompt, texts = choices[place]
        return len(texts), sum(len(message["content"]) for message in prompt.messages)

    found: list[list[int]] = []
    for place in sorted(range(len(choices)), key=size):
        full = not found or len(found[-1]) == SCORED_AT_ONCE
        if full or len(choices[found[-1][0]][1]) != len(choices[place][1]):
            found.append([])
        found[-1].append(place)
    return found
