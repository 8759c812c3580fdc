"""The blocks of pages, and how they are filled."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.circumstances import FOLDER
from benchmarks.quoted import others, studies
from benchmarks.stored import Stored, read_stored
from benchmarks.verdict import confusion_table, exam_table
from pipeline.base.errors import UserError
from pipeline.cli.output import write_output

NOT_RUN = "*These results are yet to be made.*\n"
"""What stands where a result is not stored yet."""

Block = Callable[[Path], str]


def _of_study(study: str, *texts: Callable[[Stored], str]) -> Block:
    """A block that comes from a stored study; several texts stand below each other."""

    def block(root: Path) -> str:
        found = read_stored(root, study)
        return NOT_RUN if found is None else "\n".join(text(found) for text in texts)

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


_chief = partial(studies.printed_table, beside=studies.CHIEF)

BLOCKS: Mapping[str, Block] = {
    "one run": _of_study("mini", studies.first_screen),
    "table": _of_study("mini", studies.result_table),
    "control": _of_study("control", studies.seed_by_seed),
    "minds": _of_study("mini", studies.what_pays),
    "real": _of_study("smol-seeds", studies.changes, studies.differences),
    "real opening": _of_study("smol", studies.opening),
    "seeds": _of_study("smol-seeds", studies.opening, studies.changes),
    "study 1": _of_study("smol-real", studies.opening, _chief, studies.steps),
    "opening": _of_study("mini-seeds", studies.opening, studies.seed_by_seed),
    "what holds": _of_study("mini-seeds", studies.changes, studies.by_chance),
    "spurious": _of_study(
        "spurious-mini", studies.opening, studies.changes, studies.differences, studies.by_chance
    ),
    "acting": _of_study("smol-acting", studies.opening, studies.steps),
    "test time": _of_study("test-time-or-training-mini", studies.opening, studies.test_time),
    "field": _of_file("recorded", "models", others.accuracy_table),
    "compared": _of_file("recorded", None, others.compared_text),
    "recorded": _of_file("recorded", "models", others.recorded_table),
    "recorded text": _of_file("recorded", "models", others.recorded_text),
    "decided": _of_file("recorded", "ledger", others.ledger_table),
    "taught": _of_file("taught", None, others.taught_text),
    "alarm": _of_file("alarm", None, others.alarm_text),
    "found": _of_file("found", None, others.found_text),
    "real model": _of_file("real_model", None, others.speed),
    "rules": _of_file("audit", "sets", others.rules_table),
    "confusion": _of_file("verdict", "exams", confusion_table),
    "exam": _of_file("verdict", "exams", exam_table),
}
"""What writes each block, by its name."""

_BLOCK = re.compile(r"(?P<begin><!-- (?P<name>\w[^>]*) -->\n).*?(?P<end><!-- /(?P=name) -->)", re.S)
_MARKER = re.compile(r"<!-- /?(\w[^>]*) -->")


def pages(root: Path) -> Iterator[Path]:
    """Yield README and the pages of documentation that are there."""
    yield from (
        path for path in (root / "README.md", *sorted(root.glob("docs/**/*.md"))) if path.is_file()
    )


def filled(root: Path, page: Path) -> str:
    """The text of a page with every block written anew.

    Raises:
        UserError: If there is no such block, or it does not begin and end there once.
    """
    text = page.read_text(encoding="utf-8")
    markers = _MARKER.findall(text)
    for name in dict.fromkeys(markers):
        if name not in BLOCKS:
            raise UserError(f"{page}: found block {name!r}; allowed: {', '.join(BLOCKS)}")
        if markers.count(name) != 2:
            raise UserError(f"{page}: <!-- {name} --> and <!-- /{name} --> must stand there once")

    def block(found: re.Match[str]) -> str:
        return found["begin"] + BLOCKS[found["name"]](root) + found["end"]

    return _BLOCK.sub(block, text)


def outside(text: str) -> str:
    """What of a page stands in no block."""
    return _BLOCK.sub("", text)


def write_pages(root: Path) -> list[Path]:
    """Write every page of a checkout anew; return those that changed."""
    changed = []
    for page in pages(root):
        after = filled(root, page)
        if after != page.read_text(encoding="utf-8"):
            write_output(page, after)
            changed.append(page)
    return changed
