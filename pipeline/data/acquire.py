"""Fetch upstream's files: from a mirror folder or by download, verified against their digests.

A download is resumed from its ``.part`` file, retried with exponential backoff, and only renamed
into place once size and sha256 are right. A mirror holds ``<mirror>/<source>/<file>``.
"""

from __future__ import annotations

import hashlib
import http.client
import shutil
import ssl
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from pipeline.data.archive import find_member, unpack
from pipeline.data.sources import Source, SourceFile, get_source
from pipeline.errors import UserError

_CHUNK = 1 << 16
_UNPINNED_LIMIT = 1 << 30  # for the one file whose size upstream does not publish
_NETWORK_ERRORS = (
    urllib.error.URLError,
    http.client.HTTPException,
    ConnectionError,
    TimeoutError,
    ssl.SSLError,
)
_RETRIED_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})

UNAVAILABLE = "UNAVAILABLE.txt"
"""What an optional source leaves in place of its files where they cannot be had."""


_UNAVAILABLE = (
    "The files of {source} could not be had when this folder was made. "
    "Try again with: dvc repro --force acquire@{source}\n"
)


class Unreachable(UserError):
    """A file is neither in the mirror nor to be had from its address."""


Report = Callable[[str, int, int | None], None]
"""Called with a file's name, the bytes it has so far, and its size where known."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to insist on a download.

    Attributes:
        attempts: Tries for one file in which nothing arrives; a try that brings bytes is free.
        stall_seconds: Longest wait for the next bytes.
        backoff_seconds: Wait after the first failure; doubles with each further one.
        longest_wait: Upper bound of that wait.
        sleep: How to wait.
    """

    attempts: int = 5
    stall_seconds: float = 30.0
    backoff_seconds: float = 1.0
    longest_wait: float = 60.0
    sleep: Callable[[float], None] = time.sleep


DEFAULT_PATIENCE = Patience()


def acquire(
    source: str,
    target: Path,
    *,
    mirror: Path | None = None,
    offline: bool = False,
    parts: Path | None = None,
    progress: bool = True,
    patience: Patience = DEFAULT_PATIENCE,
) -> list[Path]:
    """Bring every file of a source into a folder.

    Args:
        source: Name of the source, a key of ``SOURCES``.
        target: The folder that receives the files themselves. Files that are there and whole are
            kept; others of the same name are replaced.
        mirror: A folder with one subfolder per source to copy from instead of downloading.
        offline: Never use the network.
        parts: Where unfinished downloads are kept between runs; the target by default.
        progress: Whether to draw a progress bar, if there is a terminal.
        patience: Retries and timeouts.

    Returns:
        The files, in the order of the table; none of an optional source that is out of reach, in
        whose folder ``UNAVAILABLE.txt`` then says why.

    Raises:
        UserError: If a file is missing, truncated or altered, or cannot be had.
    """
    wanted, note = get_source(source), target / UNAVAILABLE
    with _bar(progress) as report:
        fetcher = _Fetcher(target, mirror, offline, parts or target, report, patience)
        try:
            files = fetcher.fetch_all(wanted)
        except Unreachable as error:
            if not wanted.optional:
                raise
            note.write_text(_UNAVAILABLE.format(source=source), encoding="utf-8")
            shown = Console(stderr=True, highlight=False, soft_wrap=True)
            shown.print(f"{source} is left out: {error}", markup=False)
            return []
    note.unlink(missing_ok=True)
    return files


def verify(path: Path, file: SourceFile) -> None:
    """Compare a file on disk with its pinned size and digest.

    Raises:
        UserError: If it is missing, truncated or altered.
    """
    if not path.is_file():
        raise UserError(f"{path}: missing; expected {_described(file)}")
    size = path.stat().st_size
    if file.bytes is not None and size != file.bytes:
        kind = "truncated" if size < file.bytes else "altered"
        raise UserError(f"{path}: {kind}, found {size:,} bytes, expected {_described(file)}")
    if file.sha256 is not None and (found := _sha256(path)) != file.sha256:
        raise UserError(f"{path}: altered, found sha256 {found}, expected {_described(file)}")


@dataclass(frozen=True, slots=True)
class _Fetcher:
    """Brings the files of one source into one folder."""

    target: Path
    mirror: Path | None
    offline: bool
    parts: Path
    report: Report
    patience: Patience

    def fetch_all(self, source: Source) -> list[Path]:
        self.target.mkdir(parents=True, exist_ok=True)
        self.parts.mkdir(parents=True, exist_ok=True)
        try:
            for file in source.files:
                if not _is_whole(self.target / file.name, file):
                    self._fetch(source, file)
        except OSError as error:
            raise UserError(f"{source.name}: {error}; check disk space and permissions") from error
        return [self.target / file.name for file in source.files]

    def _fetch(self, source: Source, file: SourceFile) -> None:
        if file.member:
            self._unpack_member(file)
        elif self.mirror is not None:
            self._copy(self.mirror / source.name / file.name, file)
        elif self.offline:
            raise Unreachable(
                f"{self.target / file.name}: not there or not as pinned, and offline; expected "
                f"{_described(file)}. Go online, or set TOMRL_DATA_MIRROR to a folder that "
                f"holds {source.name}/{file.name}"
            )
        else:
            self._place(self._download(file), file)

    def _copy(self, origin: Path, file: SourceFile) -> None:
        try:
            verify(origin, file)
        except UserError as error:
            raise (UserError if origin.is_file() else Unreachable)(
                f"{error}. Put the file from {file.url} into the mirror, or unset "
                f"TOMRL_DATA_MIRROR to download it"
            ) from None
        copy = self.parts / f".{file.name}.copy"
        shutil.copyfile(origin, copy)
        self._place(copy, file)

    def _unpack_member(self, file: SourceFile) -> None:
        archive = self.target / file.archive
        with tempfile.TemporaryDirectory(dir=self.parts, prefix=".unpack-") as scratch:
            found = find_member(unpack(archive, Path(scratch) / "files"), file.member)
            if found is None:
                raise UserError(
                    f"{archive}: holds no file {file.member}; delete it and acquire again"
                )
            try:
                verify(found, file)
            except UserError as error:
                raise UserError(f"{error}. Delete {archive} and acquire again") from None
            self._place(found, file)

    def _place(self, path: Path, file: SourceFile) -> None:
        """Move a verified file into place; a copy first if the file systems differ."""
        scratch = self.target / f".{file.name}.new"
        shutil.move(path, scratch)
        scratch.replace(self.target / file.name)

    def _download(self, file: SourceFile) -> Path:
        """Return a verified download."""
        part = self.parts / f"{file.name}.{(file.sha256 or 'unpinned')[:12]}.part"
        resumed = part.exists() and part.stat().st_size > 0
        while True:
            self._receive(file, part)
            try:
                verify(part, file)
            except UserError as error:
                part.unlink()
                # The leftover of an earlier run may be what is wrong: one more try without it.
                if resumed:
                    resumed = False
                    continue
                raise UserError(
                    f"{error}. It came from {file.url}, which no longer serves the pinned file: "
                    f"set TOMRL_DATA_MIRROR to a folder with the original"
                ) from None
            return part

    def _receive(self, file: SourceFile, part: Path) -> None:
        """Append to the part file until it is complete, with retries."""
        failures, wait = 0, self.patience.backoff_seconds
        while True:
            before = _size(part)
            try:
                self._transfer(file, part)
                return
            except _NETWORK_ERRORS as error:
                status = getattr(error, "code", None)
                failures = failures + 1 if _size(part) <= before else 0
                if failures >= self.patience.attempts or (
                    status is not None and status not in _RETRIED_STATUS
                ):
                    raise Unreachable(
                        f"{file.name}: download failed with {_size(part):,} bytes received "
                        f"({error}); expected {_described(file)} from {file.url}. Check the "
                        f"network and run again to resume, or set TOMRL_DATA_MIRROR"
                    ) from error
                if failures:
                    self.patience.sleep(min(wait, self.patience.longest_wait))
                    wait *= 2

    def _transfer(self, file: SourceFile, part: Path) -> None:
        """Do one request for what is missing.

        Raises:
            ConnectionError: If the connection ended before the last byte.
        """
        start = _size(part)
        limit = file.bytes or _UNPINNED_LIMIT
        if file.bytes is not None and start >= limit:
            return
        headers = {"Accept-Encoding": "identity", "User-Agent": "tomrl"}
        if start:
            headers["Range"] = f"bytes={start}-"
        request = urllib.request.Request(file.url, headers=headers)
        try:
            reply = urllib.request.urlopen(request, timeout=self.patience.stall_seconds)
        except urllib.error.HTTPError as error:
            if error.code != 416:
                raise
            part.unlink()  # what is there is not a beginning of what the server has
            raise ConnectionError("the server refused to resume") from error
        with reply:
            resumes = reply.status == 206
            if resumes and _range_start(reply) != start:
                part.unlink(missing_ok=True)
                raise ConnectionError("the server sent another range than asked for")
            size = _stated_size(reply, start if resumes else 0) or file.bytes
            with part.open("ab" if resumes else "wb") as out:
                done = start if resumes else 0
                while done <= limit and (chunk := reply.read1(_CHUNK)):
                    out.write(chunk)
                    done += len(chunk)
                    self.report(file.name, done, size)
        if size is not None and done < size:
            raise ConnectionError(f"connection closed after {done:,} of {size:,} bytes")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _stated_size(reply: http.client.HTTPResponse, start: int) -> int | None:
    length = reply.headers.get("Content-Length", "")
    return start + int(length) if length.isdigit() else None


def _range_start(reply: http.client.HTTPResponse) -> int | None:
    start = reply.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0]
    return int(start) if start.isdigit() else None


def _is_whole(path: Path, file: SourceFile) -> bool:
    # A member without a digest of its own is taken from its archive again: that one is pinned.
    if file.sha256 is None:
        return False
    try:
        verify(path, file)
    except UserError:
        return False
    return True


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _described(file: SourceFile) -> str:
    size = "" if file.bytes is None else f"{file.bytes:,} bytes"
    digest = "" if file.sha256 is None else f"sha256 {file.sha256}"
    return ", ".join(part for part in (size, digest) if part) or f"a member of {file.archive}"


@contextmanager
def _bar(wanted: bool) -> Iterator[Report]:
    """Draw one progress bar per file on the terminal, if there is one."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    off = not (wanted and console.is_terminal)
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=off) as bar:
        rows: dict[str, int] = {}

        def report(name: str, done: int, total: int | None) -> None:
            if name not in rows:
                rows[name] = bar.add_task(name, total=total)
            bar.update(rows[name], completed=done, total=total)  # type: ignore[arg-type]

        yield report
