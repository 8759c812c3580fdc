"""The journal of finished steps: what all attempts of a job have done, in order."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel

from pipeline.formats.files import write_text
from pipeline.train.contract import History, Step


class StepJournal:
    """An append-only file of steps; a line that a killed process left incomplete is dropped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        steps = [Step.from_line(line) for line in _whole_lines(path)]
        self.history = History(steps=tuple(steps))

    def keep_until(self, step: int) -> None:
        """Forget what lies after a step."""
        self.history = self.history.until(step)
        write_text(self.path, "".join(f"{s.line}\n" for s in self.history.steps))

    def add(self, step: Step) -> None:
        """Append a step."""
        self.history = self.history.adding(step)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{step.line}\n")


class LoggedStep(BaseModel):
    """A row of verl's file logger; what is no number in it is of no interest here."""

    step: int
    data: dict[str, object]

    @property
    def figures(self) -> dict[str, float]:
        """The numbers by verl's names."""
        return {n: v for n, v in self.data.items() if isinstance(v, int | float)}


class StepFollower:
    """Reads the steps that verl appends to its log."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def read(self) -> list[LoggedStep]:
        """The steps that were completed since the last call."""
        if not self._path.is_file():
            return []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            content = file.read()
        end = content.rfind(b"\n") + 1
        self._offset += end
        return [LoggedStep.model_validate(json.loads(line)) for line in content[:end].splitlines()]


def _whole_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1] if path.is_file() else []
