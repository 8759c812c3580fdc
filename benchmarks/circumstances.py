"""Storing results with what they were made on: commit, processor or accelerator, libraries."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.base.errors import UserError
from pipeline.base.git import checked_out
from pipeline.cli.output import write_output
from pipeline.formats.download import MIRROR_VARIABLE
from pipeline.formats.provenance import installed
from pipeline.stages.followed import processor, read_ended

FOLDER = Path("docs") / "results"
LIBRARIES = ("torch", "transformers", "scikit-learn", "numpy")


def store(root: Path, name: str, found: Mapping[str, Any]) -> None:
    """Keep a result in ``docs/results`` of a checkout, with what it was made on."""
    text = json.dumps({**circumstances_of(root), **found}, indent=1) + "\n"
    write_output(root / FOLDER / f"{name}.json", text)


def data_mirror() -> Path:
    """The folder of upstream data; UserError where none is named."""
    mirror = os.environ.get(MIRROR_VARIABLE)
    if not mirror:
        raise UserError(f"set {MIRROR_VARIABLE} to the folder of upstream data")
    return Path(mirror).resolve()


def circumstances_of(root: Path) -> dict[str, Any]:
    """The commit of a checkout, and this machine's processor and libraries."""
    return {
        "commit": checked_out(root)[:7],
        "processor": processor(),
        "libraries": dict(installed(*LIBRARIES)),
    }


def circumstances_of_study(root: Path, study: str) -> dict[str, Any]:
    """The commit of a checkout, and what trained and asked a study's models.

    That is what their stages noted of themselves: it may be another machine than this one, which
    judged and reported. Of stages without such a note it is this one.
    """
    found = circumstances_of(root)
    logs = root / "logs" / study
    ends = (read_ended(each) for stage in ("train", "evaluate") for each in logs.glob(f"*/{stage}"))
    noted = [end.circumstances for end in ends if end is not None]
    ran_on = _told(noted, "hardware.accelerators") - {"none"}
    ran_on = ran_on or _told(noted, "hardware.processor") or {found["processor"]}
    libraries = {
        name: _told(noted, f"version.{name}") or {version}
        for name, version in found["libraries"].items()
    }
    return found | {
        "processor": ", ".join(sorted(ran_on)),
        "libraries": {name: ", ".join(sorted(each)) for name, each in libraries.items()},
    }


def _told(noted: Sequence[Mapping[str, str]], name: str) -> set[str]:
    return {tags[name] for tags in noted if name in tags}
