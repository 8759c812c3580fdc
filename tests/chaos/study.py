"""A study that takes seconds per stage, and what an undisturbed run of it leaves."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import copy_checkout, edited, shrink, type_command

_SAME_BYTES = ("code", "data", "runs", "reports", "weights")
_SAME_NAMES = ("weights", "work")


def prepare(folder: Path) -> Path:
    """Make a checkout whose study has checkpoints to go on from, in its warm start too."""
    checkout = copy_checkout(folder)
    shrink(checkout, steps=8)
    with edited(checkout / "studies" / "mini.yaml") as study:
        study["base"]["models"]["nano"]["warm_start"]["steps"] = 120
    used = type_command(checkout, folder.parent, "tomrl", "study", "use", "mini")
    assert used.returncode == 0, used.stderr
    return checkout


@dataclass(frozen=True)
class Outcome:
    """What a study leaves: bytes of its results, names of its artifacts, its runs in MLflow."""

    results: dict[str, bytes]
    artifacts: frozenset[str]
    tracked: dict[str, int]

    @classmethod
    def of(cls, checkout: Path) -> Outcome:
        """Read what is there."""
        return cls(results(checkout), _artifacts(checkout), tracked_in(checkout))

    def differences(self, other: Outcome) -> dict[str, list[str]]:
        """What another outcome lacks, has beyond this one, and has otherwise."""
        mine, theirs = self.results, other.results
        runs = set(self.tracked) ^ set(other.tracked)
        fewer = [n for n, count in self.tracked.items() if other.tracked.get(n, 0) < count]
        more = [n for n, count in self.tracked.items() if other.tracked.get(n, 0) > count]
        return {
            "lost": sorted({*mine.keys() - theirs.keys(), *self.artifacts - other.artifacts})
            + fewer,
            "doubled": sorted({*theirs.keys() - mine.keys(), *other.artifacts - self.artifacts})
            + sorted({*more, *runs - set(fewer)}),
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


def altered(whole: dict[str, bytes], found: dict[str, bytes]) -> list[str]:
    """The results that are there and differ from those of an undisturbed run."""
    return sorted(name for name in whole.keys() & found.keys() if whole[name] != found[name])


def _artifacts(checkout: Path) -> frozenset[str]:
    return frozenset(
        path.relative_to(checkout).as_posix()
        for folder in _SAME_NAMES
        for path in (checkout / folder).rglob("*")
        if path.is_file() and not path.name.endswith(".lock")
    )


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
