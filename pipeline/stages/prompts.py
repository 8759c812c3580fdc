"""The published frames of prompts, from the stage ``sources`` to the stages that show prompts.

There is one file for each style, whether or not it has a frame, in a folder that stages depend on.
"""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from pipeline.config.data import PromptStyle
from pipeline.data.original import ORIGINAL, SOURCE, Frame, read_frame
from pipeline.formats.records import Record
from pipeline.stages.common import Stage


class Published(Record):
    """The published frame of a prompt style.

    Attributes:
        frame: The frame; none where the style has none, or the study does not acquire its source.
    """

    frame: Frame | None


def write_frames(raw: Path, folder: Path) -> None:
    """Write the frame of every prompt style, as the acquired files have it."""
    there = (raw / SOURCE).is_dir()
    for style in get_args(PromptStyle):
        frame = read_frame(raw) if style == ORIGINAL and there else None
        Published(frame=frame).write(folder / _name(style))


def frame_of(stage: Stage, style: str) -> Frame | None:
    """The published frame of a prompt style, if it has one."""
    return Published.read(stage.data / "sources" / _name(style), "sources").frame


def _name(style: str) -> str:
    return f"prompts/{style}.json"
