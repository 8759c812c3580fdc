"""How far a stage is, read from the lines that it prints."""

from __future__ import annotations

import re
from typing import Literal

from pipeline.formats.records import Record

State = Literal["waiting", "running", "done", "failed", "stopped"]


class CellState(Record):
    """How far a cell is.

    Attributes:
        state: ``running`` also after a kill; only a run under way has running cells.
        attempts: How often it was started.
        stage: The stage it is in, or was in last.
        step: Steps of that stage that are done.
        steps: Steps of that stage.
        note: What the stage says of the last step, such as its reward.
        remaining: Seconds that the stage will take on, if that can be told.
        cause: Why it failed.
        seconds: How long it has run, all attempts together.
    """

    state: State = "waiting"
    attempts: int = 0
    stage: str = ""
    step: int = 0
    steps: int = 0
    note: str = ""
    remaining: float | None = None
    cause: str = ""
    seconds: float = 0.0


# As DVC says it, and as pipeline.base.progress writes its lines.
_STARTED = re.compile(r"Running stage '([^'@]+)@?[^']*':?")
_STEP = re.compile(r"(\w+) .+: (\d+)/(\d+) \((\d+) s\) ?(.*)")


def advanced(state: CellState, line: str) -> CellState:
    """How far a cell is after a line of its output; itself where that says nothing of it.

    Args:
        state: How far it was.
        line: The line.
    """
    if started := _STARTED.match(line):
        fresh: dict[str, object] = {"step": 0, "steps": 0, "note": "", "remaining": None}
        return state.model_copy(update={**fresh, "stage": started[1]})
    if (found := _STEP.match(line)) and found[1] == state.stage:
        step, steps, spent = (int(found[index]) for index in (2, 3, 4))
        remaining = spent * (steps - step) / step if step else None
        update = {"step": step, "steps": steps, "note": found[5], "remaining": remaining}
        return state.model_copy(update=update)
    return state


def told(state: CellState) -> str:
    """One line for people on how far a cell is."""
    if state.state in ("failed", "stopped"):
        where = f"in {state.stage}" if state.stage else "at the start"
        return f"{state.state} {where}" + (f": {state.cause}" if state.cause else "")
    if state.state != "running":
        return state.state
    parts = [state.stage or "starting"]
    if state.steps:
        parts.append(f"{state.step}/{state.steps}")
    if state.note:
        parts.append(state.note)
    if state.remaining:
        parts.append(f"{duration(state.remaining)} left")
    return "  ".join(parts)


def duration(seconds: float) -> str:
    """A time in words: ``40 s``, ``12 min``, ``3.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
