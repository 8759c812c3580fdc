"""Reading a command's input files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from pipeline.base.errors import UserError
from pipeline.formats.download import MIRROR_VARIABLE

TABLE = (
    "JSON lines, JSON, CSV, Excel, parquet, samples of Inspect (.eval) or lm-evaluation-harness, "
    "or a folder with a text file for each response, named by the question's id."
)
"""What :mod:`pipeline.formats.tables` reads, for whoever asks for help."""

COLUMNS_HELP = (
    "What fields of the file hold, where the guess is wrong: story=actions,id=doc.id. A dot leads "
    "into a nested field."
)

RawOption = Annotated[
    Path | None,
    typer.Option(
        help="Folder with one subfolder per source. By default data/STUDY/raw, then the folder "
        f"that {MIRROR_VARIABLE} names."
    ),
]


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
