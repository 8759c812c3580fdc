"""Reading a command's input files."""

from __future__ import annotations

import os
from pathlib import Path

from pipeline.base.errors import UserError

TABLE = "JSON lines, JSON, CSV, parquet, or samples of Inspect (.eval) or lm-evaluation-harness."
"""The formats of :mod:`pipeline.formats.tables`, for the help of commands."""


def read_input(source: Path) -> bytes:
    try:
        return source.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{source}: there is no such file") from None
    except OSError as error:
        raise UserError(f"{source}: cannot be read ({error.strerror})") from None


def refuse_same_file(source: Path, output: Path) -> None:
    if os.path.realpath(source) == os.path.realpath(output) and not source.is_char_device():
        raise UserError(f"{output} is the input file; choose another output")
