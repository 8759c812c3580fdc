"""What ``docs/audit.md`` shows, kept small in ``docs/results/audit.json``.

Audits every published set of the registry, and the training sets of Study 2, on the mirror of
upstream data. ``python -m benchmarks.audited [TASK...]`` does some of them anew and leaves the
others; ``python -m benchmarks.quoted`` then fills the blocks of the page. All of them take
about half an hour on one core.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.circumstances import data_mirror, store
from pipeline.audit.records import ColumnAudit
from pipeline.audit.sets import set_audit
from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.params import DatasetEntry, Params
from pipeline.config.sources import HiTomSource
from pipeline.config.study_files import find_study
from pipeline.data.build import select_parts
from pipeline.data.generated import stories
from pipeline.data.sources import SOURCES
from pipeline.formats.files import write_lines
from pipeline.ops.driver.checkout import find_root
from pipeline.tasks.example import Example
from pipeline.tasks.registry import Task, all_tasks

TRAINED_IN = "rlvr"
"""The study whose training sets are audited; that of Study 1 is a published one."""

OPENTOM = ("opentom", "opentom_long")
"""Its tasks that are no part of another one."""

FILE = "docs/results/audit.json"
FEW = 5
"""Question types of a set up to which rules are kept of each."""

_PLACES = 4

Make = Callable[[], Sequence[Example]]


def published() -> list[Task]:
    """The tasks whose rows are upstream's; no side-checks, no parts of OpenToM."""
    return [
        task
        for task in all_tasks()
        if not task.mathematics
        and all(source in SOURCES for source in task.sources)
        and (task.benchmark != "opentom" or task.name in OPENTOM)
    ]


def sets_to_audit(root: Path, mirror: Path, folder: Path) -> dict[str, Make]:
    """How to read each set, by name: a task, or STUDY/COMBINATION.

    Args:
        root: The checkout.
        mirror: The folder of upstream data.
        folder: Where sources are put together with those that are generated.
    """
    params = expand(find_study(root, TRAINED_IN))
    raw = cache(lambda: _put_together(params, mirror, folder))
    found: dict[str, Make] = {task.name: partial(task.examples, mirror) for task in published()}
    for key, entry in params.dataset.items():
        found[f"{TRAINED_IN}/{key}"] = _trained(entry, raw)
    return found


def _trained(entry: DatasetEntry, raw: Callable[[], Path]) -> Make:
    return lambda: select_parts(raw(), entry.train, entry.seed)


def _put_together(params: Params, mirror: Path, folder: Path) -> Path:
    """Put published and generated sources of a study into one folder, and return it."""
    for source in mirror.iterdir():
        (folder / source.name).symlink_to(source)
    for key, made in params.acquire.items():
        if isinstance(made, HiTomSource):
            (folder / key).mkdir()
            told = stories(made, "train", made.train)
            write_lines(folder / key / "train.jsonl", chain.from_iterable(told))
    return folder


def kept(found: ColumnAudit) -> dict[str, Any]:
    """What is kept of an audit; shares to four places."""
    rules, won = found.baselines, found.without_answer
    return {
        "rows": found.rows,
        "stories": found.stories,
        "unread": found.unread,
        "rule": rules.best.rule,
        "accuracy": _rounded(rules.best.accuracy),
        "chance": _rounded(rules.chance),
        "majority": _rounded(rules.majority),
        "rules": _all_rounded(rules.rules),
        "by_order": {
            order: _all_rounded(group.rules)
            for order, group in rules.by_order.items()
            if len(rules.by_order) > 1
        },
        "by_type": {
            kind: {"rules": _all_rounded(group.rules), "guess": _all_rounded(group.with_guess)}
            for kind, group in rules.by_type.items()
            if 1 < len(rules.by_type) <= FEW
        },
        "learned": None if found.learned is None else _all_rounded(found.learned.model_dump()),
        "constant": _all_rounded(won.constant.model_dump()),
        "cheat": _all_rounded(won.cheat.model_dump()),
        "flags": sorted({flag.kind for flag in found.flags}),
    }


def _rounded(share: float) -> float:
    return round(share, _PLACES)


def _all_rounded(values: Mapping[str, Any]) -> dict[str, Any]:
    return {k: _rounded(v) if isinstance(v, float) else v for k, v in values.items()}


def audited(make: Make) -> dict[str, Any]:
    """What is kept of a set; that it is absent, where its source cannot be read."""
    try:
        examples = make()
    except UserError as error:
        print(error, file=sys.stderr)
        return {"absent": True}
    return kept(set_audit(examples))


def main() -> int:
    """Audit, and write what is kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sets", nargs="*", help="tasks, or STUDY/COMBINATION; all if absent")
    asked, root, mirror = parser.parse_args().sets, find_root(), data_mirror()
    path = root / FILE
    before = json.loads(path.read_text(encoding="utf-8"))["sets"] if path.exists() else {}
    with TemporaryDirectory() as folder:
        known = sets_to_audit(root, mirror, Path(folder))
        if unknown := set(asked) - set(known):
            raise UserError(f"no such set: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
        for name in asked or known:
            before[name] = audited(known[name])
            print(name, json.dumps(before[name].get("learned", before[name])), flush=True)
            ordered = {name: before[name] for name in known if name in before}
            store(root, "audit", {"sets": ordered})
    return 0


if __name__ == "__main__":
    sys.exit(main())
