"""The journal of finished steps: what all attempts of a job have done, in order."""

from __future__ import annotations

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
        return {n: v for n, v in self.data.items() if isinstance(v, int | float)}


def _whole_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1] if path.is_file() else []
