"""What an evaluation writes: ``metrics.json`` of the stage ``evaluate``."""

from __future__ import annotations

from collections.abc import Iterable
from operator import not_
from pathlib import Path
from typing import Self

from pydantic import Field

from pipeline.formats.provenance import Libraries
from pipeline.formats.records import Record, refuse_foreign

PAIR_ACCURACY, SENSITIVITY = "pair accuracy", "intervention sensitivity"
"""The figures of counterfactual pairs, as tables name them."""

OPTIONS, OPTIONS_BY_LENGTH = "options", "options by length"
"""The figures of option scoring, as tables and ``grades.parquet`` name them."""


def sample_figures(samples: int) -> tuple[str, str, str]:
    """The names of the figures of so many samples: mean, pass and majority."""
    return f"mean@{samples}", f"pass@{samples}", f"majority@{samples}"


class Share(Record):
    """How many of some answers are right.

    Attributes:
        count: Number of answers.
        correct: Those that are right by the benchmark's published rule.
        accuracy: Their share.
        interval: Its 95 % interval, by story; see :mod:`pipeline.evaluate.statistics`.
        strict_accuracy: Share of those that are right by the strict match.
    """

    count: int
    correct: int
    accuracy: float
    interval: tuple[float, float]
    strict_accuracy: float


class PairScores(Record):
    """What was answered to pairs: the same question about two stories that differ in one event.

    Attributes:
        accuracy: Pairs both members of which are answered right.
        sensitivity: Of the pairs with two gold answers, those with two different answers, right or
            wrong; None where no pair has two.
    """

    accuracy: Share
    sensitivity: Share | None

    def figures(self) -> dict[str, Share]:
        """What there is, by the name that tables show."""
        found = {PAIR_ACCURACY: self.accuracy, SENSITIVITY: self.sensitivity}
        return {name: share for name, share in found.items() if share is not None}


class SampleScores(Record):
    """What several answers to each question come to.

    Attributes:
        count: Answers to each question, k.
        mean: Of all answers, mean@k.
        majority: Of the answer that most samples of a question give, majority@k.
        pass_at: Probability that one of so many answers is right, by their number; see
            :func:`pipeline.evaluate.samples.pass_at`.
    """

    count: int
    mean: Share
    majority: Share
    pass_at: dict[str, float]

    def figures(self) -> dict[str, float]:
        values = (self.mean.accuracy, self.pass_at[str(self.count)], self.majority.accuracy)
        return dict(zip(sample_figures(self.count), values, strict=True))


class OptionScores(Record):
    """Which option a model finds likeliest; see :mod:`pipeline.evaluate.options`.

    Attributes:
        likeliest: Questions whose right option has the highest log-likelihood.
        by_length: Those where it has once divided by the length in characters.
        chance: What a guess is right on.
    """

    likeliest: Share
    by_length: Share
    chance: float

    def figures(self) -> dict[str, float]:
        return {OPTIONS: self.likeliest.accuracy, OPTIONS_BY_LENGTH: self.by_length.accuracy}


class TaskScores(Share):
    """The scores of one column.

    Attributes:
        format_rate: Share of responses in the form that was asked for.
        length_mean: Of the responses, in tokens.
        length_median: Of the responses, in tokens.
        prompt_mean: Of all that was read for a response, in tokens; written only where it is known.
        unfinished: Responses cut at the longest length allowed.
        prompts_too_long: Prompts that the model has no room for.
        unread: Responses in which no answer could be read; written only where there are any.
        too_late: Responses that could not be judged in time, and count as wrong; written only where
            there are any.
        refused: Prompts that a server's filter refuses, whose answers count as wrong; written only
            where there are any.
        pairs: Of counterfactual pairs; written only where there are any.
        own: The benchmark's own figures; written only where it has any.
        headline: Names of those that tables show.
        samples: Of all answers, where a question has several; written only then. All else is of
            the first answer to each question.
        options: Of the options of its questions; written only where the study asks for them and
            there are any.
        by_order: Shares by belief order.
        by_question_type: Shares by the benchmark's own kind of question.
    """

    format_rate: float
    length_mean: float
    length_median: float
    unfinished: int
    prompts_too_long: int
    by_order: dict[str, Share]
    by_question_type: dict[str, Share]
    unread: int = Field(default=0, exclude_if=not_)
    too_late: int = Field(default=0, exclude_if=not_)
    refused: int = Field(default=0, exclude_if=not_)
    pairs: PairScores | None = Field(default=None, exclude_if=not_)
    prompt_mean: float = 0.0
    own: dict[str, float] = Field(default_factory=dict, exclude_if=not_)
    headline: list[str] = Field(default_factory=list, exclude_if=not_)
    samples: SampleScores | None = Field(default=None, exclude_if=not_)
    options: OptionScores | None = Field(default=None, exclude_if=not_)

    @property
    def no_answer(self) -> float:
        """Share of responses in which no answer could be read."""
        return self.unread / self.count

    def beside_accuracy(self) -> dict[str, float]:
        """The other figures of the column that tables show, as shares from 0 to 1."""
        found = {} if self.pairs is None else self.pairs.figures()
        shares = {name: share.accuracy for name, share in found.items()}
        of_samples = {} if self.samples is None else self.samples.figures()
        of_options = {} if self.options is None else self.options.figures()
        own = {name: self.own[name] for name in self.headline}
        return shares | own | of_samples | of_options


class AskedStep(Record):
    """What the weights of one step of a training answer; see :mod:`pipeline.evaluate.along`.

    Attributes:
        step: The step.
        right: By column a character for each of its questions, in the order of the grades: ``1``
            where the answer is right, ``0`` where it is wrong, ``-`` where it was not asked.
    """

    step: int
    right: dict[str, str]


class Evaluation(Record):
    """The scores of a cell.

    Attributes:
        engine: What ran the model.
        prompt: Prompt style.
        libraries: Versions that the scores depend on.
        tasks: Scores by column; empty where the model was not run.
        absent: Why the model was not run, if it was not.
        precision: Number format, where the study asks for another than the engine's usual one.
        along: Some questions put to the weights of every step that was kept, in order.
    """

    engine: str
    prompt: str
    libraries: Libraries
    tasks: dict[str, TaskScores]
    absent: str | None = None
    precision: str | None = Field(default=None, exclude_if=lambda value: value is None)
    along: tuple[AskedStep, ...] = Field(default=(), exclude_if=lambda along: not along)

    @classmethod
    def read_of(cls, path: Path, columns: Iterable[str], made_by: str) -> Self:
        """Read the scores of columns; a model that was not run has none.

        Args:
            path: The file.
            columns: Names of the columns.
            made_by: The DVC stage that writes it, for the error message.

        Raises:
            UserError: If it is missing, damaged, or of other columns.
        """
        found = cls.read(path, made_by)
        if found.absent is None:
            refuse_foreign(path, "columns", found.tasks, columns, made_by)
        return found
