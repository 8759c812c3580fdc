"""What DVC knows of finished stages: ``dvc.lock``, of which cells bring parts together."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAME = re.compile(r"  (\S.*):\n")


def merged(into: str, found: str, stages: Iterable[str] | None = None) -> str:
    """Return the text of a ``dvc.lock`` with some stages as another has them.

    The text of a stage is kept as DVC wrote it: parsing and writing it again could change how a
    number reads, and so what DVC takes it for.

    Args:
        into: Text of a ``dvc.lock``; may be empty.
        found: Text of another.
        stages: The stages to take from there, all if absent; those that it lacks are left as they
            are.

    Returns:
        The text; empty if it names no stage.
    """
    head, blocks = _parts(into)
    other_head, others = _parts(found)
    wanted = others if stages is None else stages
    blocks |= {name: others[name] for name in wanted if name in others}
    return (head or other_head) + "".join(blocks.values()) if blocks else ""


def _parts(text: str) -> tuple[str, dict[str, str]]:
    """Return what stands before the first stage, and the lines of each stage."""
    head, blocks, name = "", {}, ""
    for line in text.splitlines(keepends=True):
        if start := _NAME.fullmatch(line):
            name = start[1]
            blocks[name] = ""
        if name:
            blocks[name] += line
        else:
            head += line
    return head, blocks
