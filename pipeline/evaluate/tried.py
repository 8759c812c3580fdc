"""What the stage ``evaluate`` keeps of answers to reasoning that was edited: ``tried.json``."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.formats.records import Record

RESTATED = "restated"
"""The kind of edit that changes the place in the last sentence, which names the answer, alone."""


class Attempt(Record):
    """One edit of what a model had written, and how the model went on from it.

    Attributes:
        id: The question.
        column: Its column of the suite.
        kind: What was edited: a kind of :mod:`pipeline.tom.edits`, ``claimed`` or ``restated``.
        implied: The place that the edited reasoning implies: neither what the reasoning implied
            before nor what was answered then.
        begun: The edited beginning of the response.
        response: How the model went on.
        extracted: What was answered; None where no answer was found.
        follows: Whether that is the place implied, and still implied by all that was written
            before it, whose last line or a sentence of its own names another place.
        stays: Whether it is what was answered before.
    """

    id: str
    column: str
    kind: str
    implied: str
    begun: str
    response: str
    extracted: str | None
    follows: bool
    stays: bool


class Tried(Record):
    """What came of editing a model's reasoning.

    Attributes:
        attempts: All edits.
        untried: Why there are none, if so.
    """

    attempts: Sequence[Attempt] = ()
    untried: str | None = None
