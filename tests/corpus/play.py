"""Giving a bad input to the pipeline, and what is wrong with what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import environment
from tests.corpus.case import BadInput
from tests.corpus.door import Ended, take
from tests.corpus.watch import State, Watch, damaged


@dataclass(frozen=True)
class Problem:
    """Something that must not come of a bad input."""

    kind: str
    what: str


class Stand:
    """A reproduced checkout that bad inputs are tried on, one after the other.

    Args:
        root: The checkout.
        home: A folder outside it, for what a user has elsewhere.
    """

    def __init__(self, root: Path, home: Path) -> None:
        self.root, self.watch = root, Watch(root)
        self.prints, self.empty = home / "printed", home / "empty"
        self.empty.mkdir(exist_ok=True)
        self._environment = environment(home)

    def environment(self, case: BadInput) -> dict[str, str]:
        """The variables that a command sees."""
        own = {name: str(self.empty) if v == "@" else v for name, v in case.environment.items()}
        return {**self._environment, **own}


def play(case: BadInput, stand: Stand) -> tuple[Ended, list[Problem]]:
    """Give a bad input to the pipeline; return how it ended and what is wrong with that."""
    with damaged(stand.root, case.files):
        before = stand.watch.state()
        ended = take(case.command, stand.root, stand.environment(case), stand.prints)
        after = stand.watch.state()
        stand.watch.restore(before, after)
    says = [str(stand.empty) if word == "@" else word for word in case.says]
    return ended, [*_problems(ended, case.status, says), *_changes(before, after)]


def _problems(ended: Ended, status: int, says: list[str]) -> Iterator[Problem]:
    if ended.status != status:
        yield Problem("status", f"ended with {ended.status}, not {status}")
    if "Traceback" in ended.stderr + ended.stdout:
        yield Problem("traceback", "printed a traceback")
    messages = sum(line.startswith("error: ") for line in ended.stderr.splitlines())
    usage = "usage: " in (ended.stderr + ended.stdout).lower() and not messages
    if messages + usage != 1:
        yield Problem("message", f"printed {messages} messages")
    # Typer draws a box around its message, and breaks lines in it.
    if missing := lacks((ended.stderr + ended.stdout).replace("│", " "), says):
        yield Problem("words", f"did not say {missing}")
    if "\x1b" in ended.stderr:
        yield Problem("escape", "printed an escape sequence")


def lacks(said: str, words: Sequence[str]) -> list[str]:
    """The words that a message does not say, wherever lines end."""
    flat = " ".join(said.split())
    return [word for word in words if " ".join(word.split()) not in flat]


def _changes(before: State, after: State) -> Iterator[Problem]:
    for name in sorted({*before, *after}):
        if name not in before or name not in after or before[name] != after[name]:
            yield Problem("change", f"changed {name}")
