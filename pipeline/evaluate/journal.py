"""Answers, written down as they come: what was asked once is not asked, or paid for, again.

A line of a journal is one answer, found again by a digest of its prompt and random stream. So the
order of prompts, and which others stand beside them, play no part.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Prompt, Response
from pipeline.formats.files import digest_of

Figures = list[list[float]]


class JournalFile:
    """A journal, read once.

    Args:
        work: Folder of journals.
        model: What tells the model, and all else that answers depend on, from others.
        sampling: How tokens are chosen.
    """

    def __init__(self, work: Path, model: object, sampling: Sampling) -> None:
        work.mkdir(parents=True, exist_ok=True)
        self.path = work / f"{digest_of([model, asdict(sampling)])[:12]}.jsonl"
        self.answers = _read(self.path)


class Journal:
    """The answers to some prompts, by place among them; safe to use from several threads.

    Args:
        file: Where they are.
        prompts: What is asked.
        report: Hears how many of them are answered.
    """

    def __init__(
        self, file: JournalFile, prompts: Sequence[Prompt], report: Callable[[int], None]
    ) -> None:
        self._path, self._answers = file.path, file.answers
        self._names = [_name(prompt) for prompt in prompts]
        self._lock, self._report = threading.Lock(), report
        self._times = Counter(self._names)
        self._count = sum(name in self._answers for name in self._names)
        report(self._count)

    @property
    def missing(self) -> list[int]:
        """The places of prompts without an answer; of equal ones, the first alone."""
        first = {name: place for place, name in reversed(list(enumerate(self._names)))}
        return sorted(place for name, place in first.items() if name not in self._answers)

    def write(self, place: int, response: Response) -> None:
        """Write an answer down."""
        name = self._names[place]
        with self._lock:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"prompt": name, **asdict(response)}) + "\n")
            self._answers[name] = response
            self._count += self._times[name]
            self._report(self._count)

    def answers(self) -> list[Response]:
        """The answer to each prompt, in order; all must be there."""
        return [self._answers[name] for name in self._names]


class KeptFigures:
    """Figures that were computed before, a line of a file for each; for one thread.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._found: dict[str, Figures] = {row["name"]: row["figures"] for row in _rows(path)}

    def get(self, name: str, compute: Callable[[], Figures]) -> Figures:
        """The figures of a name, computed and written down where they are not there."""
        if name not in self._found:
            self._found[name] = compute()
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"name": name, "figures": self._found[name]}) + "\n")
        return self._found[name]


def _name(prompt: Prompt) -> str:
    return digest_of([prompt.messages, prompt.begun, list(prompt.key)])[:20]


def _read(path: Path) -> dict[str, Response]:
    found: dict[str, Response] = {}
    for row in _rows(path):
        with suppress(KeyError, TypeError):  # written in another form
            name = row.pop("prompt")
            found[name] = Response(**row)
    return found


def _rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file; a line that was cut off counts for nothing."""
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    if lines[-1]:  # cut off: the next one begins a line of its own
        with path.open("a", encoding="utf-8") as file:
            file.write("\n")
    return [row for row in map(_row, lines) if row]


def _row(line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        return {}
    return row if isinstance(row, dict) else {}
