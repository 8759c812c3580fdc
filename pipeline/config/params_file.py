"""``params.yaml``: written by ``tomrl study use``, read by every stage."""

from __future__ import annotations

from pathlib import Path

from pipeline.config.params import Params
from pipeline.config.reading import read_section
from pipeline.config.references import params_mistakes
from pipeline.config.yaml_file import write_yaml


def read_params(path: Path = Path("params.yaml")) -> Params:
    """Read and validate ``params.yaml``.

    Raises:
        UserError: With every mistake in the file.
    """
    return read_section(path, Params, (params_mistakes,))


def dump_params(params: Params) -> str:
    """Return the text of ``params.yaml``."""
    head = (
        f"# The study {params.study.name}, expanded: written by `tomrl study use "
        f"{params.study.name}`.\n# Edit one entry (or `dvc exp run -S KEY=VALUE`) to rerun what "
        "depends on it.\n"
    )
    return head + write_yaml(params.model_dump(mode="json", exclude_none=False))
