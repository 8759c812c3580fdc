"""The journal of finished steps: what all attempts of a job have done, in order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pipeline.files import write_lines
from pipeline.train.verl.collect import StepRow


class Journal:
    """An append-only file of steps; a line that a killed process left incomplete is dropped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows = [StepRow(**each) for each in _whole_lines(path)]

    def keep_until(self, step: int) -> None:
        """Forget what lies after a step."""
        self.rows = [row for row in self.rows if row.step <= step]
        write_lines(self.path, [row.as_json() for row in self.rows])

    def add(self, row: StepRow) -> None:
        """Append a step."""
        self.rows.append(row)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row.as_json()) + "\n")


class Follower:
    """Reads the lines that another process appends to a file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def read(self) -> list[dict[str, Any]]:
        """Return the lines that were completed since the last call."""
        if not self._path.is_file():
            return []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            content = file.read()
        end = content.rfind(b"\n") + 1
        self._offset += end
        return [json.loads(line) for line in content[:end].splitlines()]


def _whole_lines(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return [json.loads(line) for line in lines]
