"""The options of a question, and which of them a model finds most likely.

As lm-evaluation-harness's ``multiple_choice`` has it: an option has the log-likelihood of its
tokens after the prompt, and the likeliest is the answer (``acc``), or the likeliest once divided by
the option's characters (``acc_norm``). Whether a model writes the form that is asked for plays no
part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.rules.reading import Reading, read_all
from pipeline.tasks.example import Example


@dataclass(frozen=True, slots=True)
class Scored:
    """The options of a question with their log-likelihoods.

    Attributes:
        options: As a model reads them.
        logprobs: Of each, in nats; empty where the model has no room for the prompt.
        answer: The right one.
    """

    options: tuple[str, ...]
    logprobs: tuple[float, ...]
    answer: str

    @property
    def right(self) -> bool:
        return self._first(self.logprobs) == self.answer

    @property
    def right_by_length(self) -> bool:
        """Whether it is once log-likelihoods are divided by the length in characters."""
        sums = zip(self.logprobs, self.options, strict=False)
        return self._first([value / len(option) for value, option in sums]) == self.answer

    def _first(self, values: Sequence[float]) -> str | None:
        return self.options[values.index(max(values))] if values else None


def options_of(examples: Sequence[Example]) -> list[tuple[str, ...] | None]:
    """The options of each question, None where it has none.

    They are those of the benchmark, yes and no, or the places of the kind asked for that the story
    names; the truth is among them.
    """
    return [_options(reading) for reading in read_all(examples)]


def _options(reading: Reading) -> tuple[str, ...] | None:
    example = reading.example
    if example.choices:
        found = example.choices
    elif example.answer_kind == "yes_no":
        found = ("Yes", "No") if example.answer.istitle() else ("yes", "no")
    elif reading.surface is not None:
        found = reading.candidates
    else:
        return None
    return found if len(found) > 1 and example.answer in found else None
