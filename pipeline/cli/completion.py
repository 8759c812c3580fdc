"""Shell completion of studies and cells."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.base.errors import UserError
from pipeline.config.params_file import read_params
from pipeline.config.study_files import study_files
from pipeline.ops.driver.checkout import find_root


def study_names(incomplete: str) -> list[str]:
    """The studies of this checkout with this prefix; none outside of one."""
    try:
        names = study_files(find_root())
    except UserError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def cell_names(incomplete: str) -> list[str]:
    """The cells of the study in use with this prefix; none without a valid params.yaml."""
    try:
        cells = read_params(find_root() / "params.yaml").cells
    except UserError:
        return []
    return [key for key in cells if key.startswith(incomplete)]


StudyOption = Annotated[
    str | None,
    typer.Option(
        help="A study of `tomrl study list`; by default params.yaml as it is.",
        autocompletion=study_names,
    ),
]
