"""What an evaluation writes: ``metrics.json`` of the stages ``evaluate`` and ``gsm8k``."""

from __future__ import annotations

from pipeline.provenance import Libraries
from pipeline.records import Record


class Share(Record):
    """How many of some answers are right; ``interval`` is the 95 % Wilson score interval."""

    count: int
    correct: int
    accuracy: float
    interval: tuple[float, float]


class TaskScores(Share):
    """The scores of one column.

    Attributes:
        strict_accuracy: By equality after normalisation, beside the published rule.
        format_rate: Share of responses in the form that was asked for.
        length_mean: Of the responses, in tokens.
        length_median: Of the responses, in tokens.
        unfinished: Responses cut at the longest length allowed.
        prompts_too_long: Prompts that the model has no room for.
        by_order: Shares by belief order.
        by_question_type: Shares by the benchmark's own kind of question.
    """

    strict_accuracy: float
    format_rate: float
    length_mean: float
    length_median: float
    unfinished: int
    prompts_too_long: int
    by_order: dict[str, Share]
    by_question_type: dict[str, Share]


class Evaluation(Record):
    """The scores of a cell.

    Attributes:
        engine: What ran the model.
        prompt: Prompt style.
        libraries: Versions that the scores depend on.
        tasks: Scores by column; empty where the model was not run.
        absent: Why the model was not run, if it was not.
    """

    engine: str
    prompt: str
    libraries: Libraries
    tasks: dict[str, TaskScores]
    absent: str | None = None
