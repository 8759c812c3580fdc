"""Errors of disks that cannot be written to, from any library."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error numbers of a full disk, quota or file."""

FORBIDDEN = (errno.EROFS, errno.EACCES, errno.EPERM)
"""Error numbers of a place without write permission."""

# Libraries in Rust put the system's error number into a message of an exception of their own.
_NUMBER = re.compile(r"\(os error (\d+)\)")


_SQLITE = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_IOERR: errno.EFBIG,
    sqlite3.SQLITE_READONLY: errno.EROFS,
}


def trouble(error: BaseException) -> str | None:
    """The disk error behind an exception, with advice, or None."""
    number, place = next(filter(None, map(_at_fault, _causes(error))), (0, ""))
    if number in FULL:
        return (
            f"no room to write {place} ({os.strerror(number)}); nothing half-written was left. "
            "Free some disk space and run it again"
        )
    if number in FORBIDDEN:
        return (
            f"{place} may not be written to or read ({os.strerror(number)}); nothing half-written "
            "was left. Give this user the right to write there, or mount it for writing, and run "
            "it again"
        )
    return None


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Add the path to an error of a full disk, which lacks it if a write fails."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL and error.filename is None:
            error.filename = str(place)
        raise


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = getattr(error, "orig", None) or error.__cause__ or error.__context__


def _at_fault(error: BaseException) -> tuple[int, str] | None:
    """The error number and path of an error of the disk."""
    number, place = _error_number(error), "its output"
    if isinstance(error, OSError) and error.filename is not None:
        place = os.fsdecode(error.filename)
    return (number, place) if number in (*FULL, *FORBIDDEN) else None


def _error_number(error: BaseException) -> int | None:
    if isinstance(error, OSError):
        return error.errno
    if isinstance(error, sqlite3.Error):
        return _SQLITE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
    found = _NUMBER.search(str(error))
    return int(found[1]) if found else None
