"""``params.yaml``: written by ``tomrl study use``, read by every stage."""

from __future__ import annotations

from pathlib import Path

import yaml
from pydantic import ValidationError

from pipeline.config.params import Params
from pipeline.config.reading import mistake_lines, mistakes_in, read_yaml


def read_params(path: Path = Path("params.yaml")) -> Params:
    """Read and validate ``params.yaml``.

    Raises:
        UserError: With every mistake in the file.
    """
    try:
        return Params.model_validate(read_yaml(path))
    except ValidationError as error:
        raise mistakes_in(path, mistake_lines(error)) from None


def dump_params(params: Params) -> str:
    """Return the text of ``params.yaml``."""
    head = (
        f"# The study {params.study.name}, expanded: written by `tomrl study use "
        f"{params.study.name}`.\n# Edit one entry (or `dvc exp run -S KEY=VALUE`) to rerun what "
        "depends on it.\n"
    )
    body = params.model_dump(mode="json", exclude_none=False)
    return head + yaml.safe_dump(body, sort_keys=False, allow_unicode=True, width=100)
