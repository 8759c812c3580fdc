"""Answers, written down as they come: what was asked once is not asked, or paid for, again.

A line of the file is one answer, found again by a digest of its prompt and random stream. So the
order of prompts, and which others stand beside them, play no part.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Prompt, Response
from pipeline.formats.files import digest_of


@dataclass(frozen=True, slots=True)
class JournalAnswer:
    """One line of the journal; ``prompt_tokens`` as a server counts them, else 0."""

    prompt: str
    text: str
    completion_tokens: int
    finish_reason: str
    prompt_tokens: int = 0

    @property
    def response(self) -> Response:
        """It without what it answers."""
        return Response(self.text, self.completion_tokens, self.finish_reason)


class Journal:
    """The answers to some prompts, by place among them; safe to use from several threads.

    Args:
        work: Folder of journals.
        model: What tells the model, and all else that answers depend on, from others.
        sampling: How tokens are chosen.
        prompts: What is asked.
        report: Hears how many of them are answered.
    """

    def __init__(
        self,
        work: Path,
        model: object,
        sampling: Sampling,
        prompts: Sequence[Prompt],
        report: Callable[[int], None],
    ) -> None:
        work.mkdir(parents=True, exist_ok=True)
        self._path = work / f"{digest_of([model, asdict(sampling)])[:12]}.jsonl"
        self._names = [_name(prompt) for prompt in prompts]
        self._answers = _read(self._path)
        self._lock, self._report = threading.Lock(), report
        self._times = Counter(self._names)
        self._count = sum(name in self._answers for name in self._names)
        report(self._count)

    @property
    def missing(self) -> list[int]:
        """The places of prompts without an answer; of equal ones, the first alone."""
        first = {name: place for place, name in reversed(list(enumerate(self._names)))}
        return sorted(place for name, place in first.items() if name not in self._answers)

    def write(self, place: int, response: Response, prompt_tokens: int = 0) -> None:
        """Write an answer down."""
        name = self._names[place]
        answer = JournalAnswer(name, **asdict(response), prompt_tokens=prompt_tokens)
        with self._lock:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(answer)) + "\n")
            self._answers[name] = answer
            self._count += self._times[name]
            self._report(self._count)

    def answers(self) -> list[JournalAnswer]:
        """The answer to each prompt, in order; all must be there."""
        return [self._answers[name] for name in self._names]


def _name(prompt: Prompt) -> str:
    return digest_of([prompt.messages, prompt.begun, list(prompt.key)])[:20]


def _read(path: Path) -> dict[str, JournalAnswer]:
    """The answers of a file; a line that was cut off counts for nothing."""
    found: dict[str, JournalAnswer] = {}
    if not path.is_file():
        return found
    lines = path.read_text(encoding="utf-8").split("\n")
    for line in lines:
        try:
            answer = JournalAnswer(**json.loads(line))
        except (ValueError, TypeError):
            continue
        found[answer.prompt] = answer
    if lines[-1]:  # cut off: the next answer begins a line of its own
        with path.open("a", encoding="utf-8") as file:
            file.write("\n")
    return found
