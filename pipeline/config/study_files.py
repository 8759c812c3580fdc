"""The study files of a checkout."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.config.lookup import lookup
from pipeline.config.mistakes import Mistake, wrong
from pipeline.config.reading import Check, read_section
from pipeline.config.study import Study


def load_study(path: Path, checks: Collection[Check] = ()) -> Study:
    """Read and validate a study file, whose name is the study's, with further ``checks``.

    Raises:
        UserError: With every mistake in the file: line, field, value found, values allowed.
    """

    def misnamed(study: Study) -> Iterator[Mistake]:
        if study.name != path.stem:
            yield wrong(("name",), study.name, f"{path.stem!r}, as the file is called")

    return read_section(path, Study, (misnamed, *checks))


def study_files(root: Path) -> dict[str, Path]:
    """The study files by name; hidden ones, such as an editor's locks, are none."""
    found = sorted((root / "studies").glob("*.yaml"))
    return {path.stem: path for path in found if not path.name.startswith(".")}


def readable_studies(root: Path, refuse: Callable[[UserError], None]) -> dict[str, Study]:
    """The studies of a checkout by name; ``refuse`` is called for each that cannot be read."""
    found = {}
    for name, path in study_files(root).items():
        try:
            found[name] = load_study(path)
        except UserError as error:
            refuse(error)
    return found


def find_study(root: Path, name: str, checks: Collection[Check] = ()) -> Study:
    """Load a study of the checkout by name; UserError for an unknown one."""
    path = lookup(study_files(root), name, "study")
    return load_study(path, checks)
