"""The interface of training backends: steps, their history, the outcome.

``metrics.jsonl`` holds the reproducible figures of each step, ``timing.jsonl`` the others.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from pipeline.formats.provenance import Libraries
from pipeline.formats.records import Figures, Record, read_figures, refuse_foreign
from pipeline.model.manifest import Manifest, StoredModel
from pipeline.train.collapse import Collapse, find_collapse
from pipeline.train.drift import Drift, find_drift


class Step(Record):
    """A finished step.

    Attributes:
        step: Its number; 0 is the initial model.
        metrics: Reproducible figures.
        at: Its end, in seconds since 1970.
    """

    step: int
    metrics: Figures
    timing: Figures
    at: float

    @classmethod
    def from_line(cls, line: str) -> Step:
        return cls.model_validate(json.loads(line))

    @property
    def line(self) -> str:
        return json.dumps(self.model_dump())

    @property
    def accuracy(self) -> float | None:
        """The validation accuracy, if the step was validated."""
        return self.metrics.get("validation_accuracy")


class History(Record):
    """The steps of a run so far, in order."""

    steps: tuple[Step, ...] = ()

    @property
    def last(self) -> Step:
        return self.steps[-1]

    @property
    def validated(self) -> tuple[Step, ...]:
        return tuple(s for s in self.steps if s.step > 0 and s.accuracy is not None)

    @property
    def best(self) -> Step | None:
        """The best validated step; the earliest wins a tie."""
        return max(self.validated, key=lambda s: (s.accuracy or 0, -s.step), default=None)

    @property
    def collapse(self) -> Collapse | None:
        return find_collapse(self.rows())

    @property
    def alarm(self) -> Collapse | None:
        """The collapse if it begins at the last step."""
        found = self.collapse
        return found if found and found.step == self.last.step else None

    @property
    def drift_alarm(self) -> Drift | None:
        """The drift of sampler and trainer if it begins at the last step."""
        found = find_drift(self.rows())
        return found if found and found.step == self.last.step else None

    def adding(self, step: Step) -> History:
        """The history with one more step, which replaces its number and all later ones."""
        return History(steps=(*self.until(step.step - 1).steps, step))

    def until(self, step: int) -> History:
        return History(steps=tuple(s for s in self.steps if s.step <= step))

    def rows(self) -> list[Figures]:
        return [{"step": s.step, **s.metrics} for s in self.steps]

    def timing_rows(self) -> list[Figures]:
        return [{"step": s.step, "at": s.at, **s.timing} for s in self.steps]


def read_training(folder: Path, model: str, made_by: str) -> tuple[list[Figures], Manifest]:
    """Curve and checkpoints written by the stage ``train`` for a cell, or a UserError.

    Raises:
        UserError: If a file is missing or damaged, or the two are of different runs.
    """
    path = folder / "metrics.jsonl"
    curve = read_figures(path, made_by)
    manifest = Manifest.read_of(folder / "checkpoints.json", model, made_by)
    ends = [str(row["step"]) for row in curve[-1:]]
    last = manifest.checkpoints.get("last")
    refuse_foreign(path, "last step", ends, [str(last.step)] if last else [], made_by)
    return curve, manifest


class Outcome(Record):
    """The result of a training run.

    Attributes:
        checkpoints: The weights of the best validated step and of the last one; twice those of the
            last where no step was validated.
        kept: The weights of every saved step, on request.
    """

    history: History
    checkpoints: dict[Literal["best", "last"], StoredModel]
    libraries: Libraries
    kept: tuple[StoredModel, ...] = ()

    @property
    def models(self) -> list[StoredModel]:
        return [*self.checkpoints.values(), *self.kept]
