"""What a study's results were made from: seeds, versions, data and code."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pipeline.analysis.results import Results
from pipeline.formats.files import digest_of, folder_digests


def provenance(results: Results, root: Path) -> dict[str, str]:
    """What the results depend on, in words, the same for the same results.

    Which code made them is said by their commit. That, and all else that differs from run to run
    (machine, durations), is in :mod:`pipeline.analysis.runs`.
    """
    study = results.params.study
    cells = results.cells.values()
    data = root / "data" / study.name
    found = {
        "study": study.name,
        "seed of the study": str(study.seed),
        "seeds of cells": _each(cell.cell.seed for cell in cells),
        "threads": str(study.threads),
        "engines": _each(cell.cell.evaluate.engine for cell in cells),
        "libraries": _each(f"{name} {v}" for cell in cells for name, v in cell.libraries.items()),
        "parameters": _short(results.params.model_dump(mode="json")),
        "training sets": _short(folder_digests(data / "combos")),
        "suite": _short(folder_digests(data / "suite")),
    }
    return {name: value for name, value in found.items() if value}


def _each(values: Iterable[object]) -> str:
    return ", ".join(dict.fromkeys(map(str, values)))


def _short(value: object) -> str:
    """The beginning of the SHA-256 digest of a value."""
    return f"sha256 {digest_of(value)[:16]}"
