"""A study that takes seconds per stage, and what an undisturbed run of it leaves."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.ops.driver.checkout import use_study
from tests.conftest import copy_checkout, edited, shrink

_SAME_BYTES = ("code", "data", "runs", "reports", "weights")


def prepare(folder: Path) -> Path:
    """Make a checkout whose study has checkpoints to go on from, in its warm start too."""
    checkout = copy_checkout(folder)
    shrink(checkout, steps=8)
    with edited(checkout / "studies" / "mini.yaml") as study:
        study["base"]["models"]["nano"]["warm_start"]["steps"] = 120
    use_study(checkout, "mini")
    return checkout


@dataclass(frozen=True)
class Outcome:
    """What a study leaves.

    Attributes:
        found: Bytes of results by path, and whatever else must come out again, by its name.
        tracked: Runs in MLflow, and points of their metrics, by name.
    """

    found: Mapping[str, object]
    tracked: Mapping[str, int]

    @classmethod
    def of(cls, checkout: Path) -> Outcome:
        """Read what is there."""
        return cls(_names(checkout) | results(checkout), tracked_in(checkout))

    def differences(self, other: Outcome) -> dict[str, list[str]]:
        """What another outcome lacks, has beyond this one, and has otherwise."""
        mine, theirs = self.found, other.found
        names = sorted(self.tracked.keys() | other.tracked.keys())
        counts = [(name, self.tracked.get(name, 0), other.tracked.get(name, 0)) for name in names]
        return {
            "lost": sorted(mine.keys() - theirs.keys())
            + [f"{name}: {found} of {count}" for name, count, found in counts if found < count],
            "doubled": sorted(theirs.keys() - mine.keys())
            + [f"{name}: {found} of {count}" for name, count, found in counts if found > count],
            "different": altered(mine, theirs),
        }


def results(checkout: Path, folders: Sequence[str] = _SAME_BYTES) -> dict[str, bytes]:
    """The deterministic results in some folders by path."""
    return {
        path.relative_to(checkout).as_posix(): path.read_bytes()
        for folder in folders
        for path in sorted((checkout / folder).rglob("*"))
        if path.is_file() and path.name != ".gitignore"
    }


def altered(whole: Mapping[str, object], found: Mapping[str, object]) -> list[str]:
    """The results that are there and differ from those of an undisturbed run."""
    return sorted(name for name in whole.keys() & found.keys() if whole[name] != found[name])


def _names(checkout: Path) -> dict[str, object]:
    """What is there without the same bytes each time, by path."""
    paths = (checkout / "work").rglob("*")
    files = (path for path in paths if path.is_file() and not path.name.endswith(".lock"))
    return {path.relative_to(checkout).as_posix(): None for path in files}


def tracked_in(checkout: Path) -> dict[str, int]:
    """What the database of a checkout has, see :func:`tracked`."""
    if not (checkout / "mlflow.db").exists():
        return {}
    with closing(sqlite3.connect(checkout / "mlflow.db")) as database:
        return tracked(database.cursor())


def tracked(database: Any) -> dict[str, int]:
    """How many points of each metric each run in MLflow has, and how many runs there are.

    Args:
        database: A cursor on MLflow's database.
    """

    def rows(query: str) -> list[tuple[Any, ...]]:
        database.execute(query)
        return list(database.fetchall())

    points = rows(
        "select name, key, count(distinct step) from metrics join runs using (run_uuid)"
        " where key not like 'system/%' group by name, key"
    )
    ((doubled,),) = rows("select count(*) - count(distinct run_uuid || key || step) from metrics")
    ((unfinished,),) = rows("select count(*) from runs where status != 'FINISHED'")
    return {
        **{f"{run}: {key}": count for run, key, count in points},
        **{
            f"runs named {name}": n
            for name, n in rows("select name, count(*) from runs group by name")
        },
        "points of one metric at one step": doubled,
        "unfinished runs": unfinished,
    }


def leftovers(checkout: Path) -> list[str]:
    """The temporary files that nobody owns."""
    found = (path for path in checkout.rglob(".*.tmp") if ".dvc" not in path.parts)
    return [path.relative_to(checkout).as_posix() for path in found]
