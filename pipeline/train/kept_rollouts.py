"""Some rollouts of every step, kept for people to read and for the report.

A file of JSON lines beside the resumable state has a line for each; the stage ``train`` writes them
as ``rollouts.parquet``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, cast, get_type_hints

import pandas as pd

from pipeline.formats.files import AppendedLines, replacing, write_text
from pipeline.model.chat import EMPTY_THOUGHT

if TYPE_CHECKING:  # it loads for seconds, and cells that are not trained have no rollouts
    from pipeline.train.rollout import Rollouts

LINES, TABLE = "rollouts.jsonl", "rollouts.parquet"
MOST = 64
"""Completions of a step."""


class KeptRollout(TypedDict):
    """A completion.

    Attributes:
        step: Of the training.
        id: Of the training example.
        tokens: Its length.
        finished: It ends with the end-of-sequence token.
        right: Its answer, by the rule that the reward pays.
        reward: Of all of it.
        response: Its text.
    """

    step: int
    id: str
    tokens: int
    finished: bool
    right: bool
    reward: float
    response: str


_STORED = {int: "int32", bool: "bool", float: "float64", str: "str"}
COLUMNS = {name: _STORED[kind] for name, kind in get_type_hints(KeptRollout).items()}


def kept(prompts: int, group: int) -> int:
    """How many completions of a step are kept: all of the first prompts, :data:`MOST` at most."""
    return min(prompts * group, MOST - MOST % group if group <= MOST else MOST)


def kept_of(step: int, rollouts: Rollouts) -> list[KeptRollout]:
    """What is kept of the rollouts of a step."""
    group = rollouts.group
    return [
        KeptRollout(
            step=step,
            id=rollouts.rows[place // group].example.id,
            tokens=len(rollouts.completions[place].tokens),
            finished=rollouts.completions[place].finished,
            right=rollouts.rewards[place].right,
            reward=rollouts.rewards[place].score,
            response=rollouts.texts[place].removeprefix(EMPTY_THOUGHT),
        )
        for place in range(kept(len(rollouts.rows), group))
    ]


@dataclass(frozen=True)
class RolloutLog:
    """The growing file of a run, in a folder of its own."""

    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / LINES

    def add(self, rollouts: Iterable[KeptRollout]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(_lines(rollouts))

    def sync(self) -> None:
        """Flush it to the disk, before a checkpoint that relies on it."""
        if self.path.is_file():
            with self.path.open("rb") as file:
                os.fsync(file.fileno())

    def keep_until(self, step: int) -> None:
        """Drop what comes after a step, and what a killed process left incomplete."""
        write_text(self.path, _lines(each for each in self.rows() if each["step"] <= step))

    @property
    def last(self) -> int:
        """The last step that is there; 0 without any."""
        found = self.rows()
        return found[-1]["step"] if found else 0

    def rows(self) -> list[KeptRollout]:
        """What is there, up to the first damaged line."""
        found: list[KeptRollout] = []
        with suppress(OSError, ValueError):
            found.extend(AppendedLines(self.path).new())
        return found


def _lines(rollouts: Iterable[KeptRollout]) -> str:
    return "".join(f"{json.dumps(each)}\n" for each in rollouts)


def table_of(rows: Sequence[KeptRollout] = ()) -> pd.DataFrame:
    """Kept rollouts as a table."""
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def rows_of(table: pd.DataFrame) -> list[KeptRollout]:
    """The kept rollouts of a table."""
    return cast("list[KeptRollout]", table.to_dict("records"))


def write_rollouts(work: Path | None, table: Path) -> None:
    """Write what a run kept in its folder as a table; of ``None``, an empty one."""
    rows = RolloutLog(work).rows() if work is not None else []
    with replacing(table) as temporary:
        table_of(rows).to_parquet(temporary, index=False, compression="zstd")
