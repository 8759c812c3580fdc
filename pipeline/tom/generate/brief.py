"""A short telling of Hi-ToM-style events: only events with an effect are told.

Tiny models read these stories: the same events and questions as Hi-ToM's, in about 60 word tokens.
"""

from __future__ import annotations

from pipeline.tom.generate.hi_tom import render as render_in_full
from pipeline.tom.story import WAITING_ROOM, Enter, Exit, Move, Stay, Story


def render(story: Story) -> str:
    """Write a story briefly, one sentence a line, without the waiting room and idle minutes."""
    said = tuple(event for event in story if not _is_silent(event))
    lines = zip(render_in_full(said).split("\n"), said, strict=True)
    return "\n".join(_shorten(line, event) for line, event in lines)


def _is_silent(event: object) -> bool:
    return isinstance(event, Stay) or (isinstance(event, Enter) and event.room == WAITING_ROOM)


def _shorten(line: str, event: object) -> str:
    match event:
        case Exit(agent, _):
            return f"{agent} left."
        case Move(agent, _, container):
            return f"{agent} moved it to the {container}."
        case _:
            return line
