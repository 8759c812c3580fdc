"""Output to a path or standard output (``-``).

Files are written atomically, through links. Devices, pipes and sockets are written to; folders are
refused.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
from pathlib import Path
from typing import IO, Annotated

import typer

from pipeline.base.errors import UserError
from pipeline.formats.files import replacing

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]

CLOSED_PIPE = 141
"""Exit status after a closed pipe: 128 + SIGPIPE, as in a shell."""

_STANDARD_OUTPUT = Path("-")


def check_output(target: Path) -> None:
    """Refuse a target that cannot be written, before the work rather than after it."""
    if is_standard_output(target):
        return
    real = Path(os.path.realpath(target))
    try:
        mode = real.stat().st_mode
    except FileNotFoundError:
        mode = 0
    except (OSError, ValueError) as error:
        raise UserError(f"{target}: cannot be written ({_why(error)})") from None
    if stat.S_ISDIR(mode):
        raise UserError(f"{target} is a folder; name a file in it, or - for standard output")
    if not mode and not real.parent.is_dir():
        raise UserError(
            f"{target}: cannot be written: there is no folder {real.parent}; make it, or name "
            "another file"
        )


def is_standard_output(target: Path) -> bool:
    """A target is standard output, by whatever name."""
    if target == _STANDARD_OUTPUT:
        return True
    try:
        return os.path.samestat(target.stat(), os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError):  # no such file; or standard output is none
        return False


def write_output(target: Path, text: str) -> None:
    """Write text as UTF-8, with lone surrogates escaped as in JSON.

    Raises:
        UserError: If it cannot be written.
        SystemExit: If the reader has closed the pipe.
    """
    check_output(target)
    data = text.encode("utf-8", "backslashreplace")
    try:
        if is_standard_output(target):
            sys.stdout.flush()
            _write_all(sys.stdout.buffer, data)
        elif target.exists() and not target.is_file():
            _write_into(target, data)
        else:
            _replace(Path(os.path.realpath(target)), data)
    except BrokenPipeError:
        drop_standard_output()
        raise SystemExit(CLOSED_PIPE) from None
    except OSError as error:
        if is_standard_output(target):
            drop_standard_output()
        raise UserError(f"{target}: cannot be written ({_why(error)})") from None


def print_json(value: object) -> None:
    """Print a value as one line of JSON; raises as :func:`write_output`."""
    write_output(_STANDARD_OUTPUT, json.dumps(value) + "\n")


def drop_standard_output() -> None:
    """Discard pending standard output, which cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write_into(target: Path, data: bytes) -> None:
    """Write to a device, pipe or socket, which is neither made nor replaced."""
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_NOCTTY), "wb") as file:
        _write_all(file, data)


def _write_all(file: IO[bytes], data: bytes) -> None:
    rest = memoryview(data)
    while rest:  # a file without a buffer may take a part at a time
        rest = rest[file.write(rest) :]
    file.flush()


def _replace(file: Path, data: bytes) -> None:
    with replacing(file) as temporary:
        temporary.write_bytes(data)
        if file.exists():
            shutil.copymode(file, temporary)


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
