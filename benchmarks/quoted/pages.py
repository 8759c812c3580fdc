"""The blocks of each page, and how a page is written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.quoted import data, one_run, over_seeds, real, taught
from benchmarks.stored import FOLDER, Stored, read_stored
from pipeline.base.errors import UserError
from pipeline.cli.output import write_output

NOT_RUN = "*These results are yet to be made.*\n"
"""What stands where a result is not stored yet."""

Block = Callable[[Path], str]


def _of_study(study: str, text: Callable[[Stored], str]) -> Block:
    """A block that comes from a stored study."""

    def block(root: Path) -> str:
        found = read_stored(root, study)
        return NOT_RUN if found is None else text(found)

    return block


def _of_file(name: str, key: str | None, text: Callable[[Any], str]) -> Block:
    """A block that comes from another stored result, or from one part of it."""

    def block(root: Path) -> str:
        path = root / FOLDER / f"{name}.json"
        if not path.exists():
            return NOT_RUN
        found = json.loads(path.read_text(encoding="utf-8"))
        return text(found if key is None else found[key])

    return block


_mini, _seeds = partial(_of_study, "mini"), partial(_of_study, "mini-seeds")
_smol = partial(_of_study, "smol")

PAGES: Mapping[str, Mapping[str, Block]] = {
    "README.md": {
        "one run": _mini(one_run.first_screen),
        "control": _of_study("control", one_run.first_screen),
        "real": _of_study("smol-seeds", real.first_screen),
    },
    "docs/results.md": {
        "table": _mini(one_run.result_table),
        "one run": _mini(one_run.what_it_shows),
        "opening": _seeds(over_seeds.opening),
        "what holds": _seeds(over_seeds.what_holds),
        "real opening": _smol(real.opening),
        "seeds": _of_study("smol-seeds", real.over_seeds),
        "study 1": _of_study("smol-real", real.study_1),
    },
    "docs/data.md": {"minds": _mini(partial(one_run.minds_on_balanced, page="verdict.md"))},
    "docs/verdict.md": {
        "recorded": _of_file("recorded", "models", data.recorded_table),
        "recorded text": _of_file("recorded", "models", data.recorded_text),
        "taught": _of_file("taught", None, taught.taught_text),
    },
    "docs/performance.md": {"real model": _of_file("real_model", None, real.speed)},
    "docs/ledger.md": {
        "decided": _of_file("recorded", "ledger", data.ledger_table),
    },
    "docs/audit.md": {
        "rules": _of_file("audit", "sets", data.rules_table),
        "learned": _of_file("audit", "sets", data.learned),
    },
}
"""What writes each block, by page and name."""


def written(root: Path, page: str, text: str) -> str:
    """A page with every block written anew.

    Raises:
        UserError: If a block is not there exactly once.
    """
    for name, block in PAGES[page].items():
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise UserError(f"{page}: {begin.strip()} and {end} must stand there once")
        before, _, rest = text.partition(begin)
        text = before + begin + block(root) + end + rest.partition(end)[2]
    return text


def write_pages(root: Path) -> list[str]:
    """Write every page of a checkout that is there anew; return those that changed."""
    changed = []
    for page in (each for each in PAGES if (root / each).is_file()):
        before = (root / page).read_text(encoding="utf-8")
        after = written(root, page, before)
        if after != before:
            write_output(root / page, after)
            changed.append(page)
    return changed


def outside(page: str, text: str) -> str:
    """What of a page stands in no block."""
    for name in PAGES[page]:
        text = re.sub(rf"<!-- {name} -->\n.*?<!-- /{name} -->", "", text, flags=re.DOTALL)
    return text
