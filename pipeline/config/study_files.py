"""The study files of a checkout."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from pipeline.config.lookup import lookup
from pipeline.config.reading import mistake_lines, mistakes_in, read_yaml
from pipeline.config.study import Study, reference_mistakes


def load_study(path: Path) -> Study:
    """Read and validate a study file.

    Raises:
        UserError: With every mistake in the file: field, value found, values allowed.
    """
    content = read_yaml(path)
    mistakes = reference_mistakes(content)
    try:
        study = Study.model_validate(content)
    except ValidationError as error:
        raise mistakes_in(path, [*mistake_lines(error), *mistakes]) from None
    if mistakes:
        raise mistakes_in(path, mistakes)
    return study


def study_files(root: Path) -> dict[str, Path]:
    """Return the study files of a checkout by name."""
    return {path.stem: path for path in sorted((root / "studies").glob("*.yaml"))}


def find_study(root: Path, name: str) -> Study:
    """Load a study of the checkout by name.

    Raises:
        UserError: If there is none of this name; lists those there are.
    """
    return load_study(lookup(study_files(root), name, f"study file in {root / 'studies'}:"))
