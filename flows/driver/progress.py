"""Progress of a stage, parsed from its output."""

from __future__ import annotations

import re
from typing import Literal

from pipeline.formats.records import Record

State = Literal["waiting", "running", "done", "failed", "stopped"]


class CellState(Record):
    """The state of a cell.

    Attributes:
        state: ``running`` also after a kill; only a run under way has running cells.
        stage: The present or last stage.
        step: Finished steps of that stage.
        note: The stage's note on the last step, such as its reward.
        remaining: Estimated seconds until the stage ends, if known.
        seconds: Run time of all attempts.
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

SHORTCUT = re.compile(r"shortcut at step \d+: .*")
"""As :mod:`pipeline.judge.alarm` says it."""


def advanced(state: CellState, line: str) -> CellState:
    """The state after a line of output; unchanged if that is about something else."""
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
    """A duration in words: ``40 s``, ``12 min``, ``3.5 h``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
