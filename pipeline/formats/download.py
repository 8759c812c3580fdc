"""Verified, resumable downloads.

A download goes to a ``.part`` file from which it is resumed, is retried with exponential backoff,
and is accepted only with the expected size and digest. An access token goes to its own server only,
even after redirects.

``huggingface_hub`` does not retry a failing server, and accepts another range of a file than
requested; ``pooch`` does not resume.
"""

from __future__ import annotations

import hashlib
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from math import isfinite
from pathlib import Path

import httpx
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from pipeline.base.errors import UserError
from pipeline.formats.files import file_digest

_CHUNK = 1 << 16
_UNKNOWN_SIZE_LIMIT = 1 << 30
_RETRIED_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})

MIRROR_VARIABLE = "TOMRL_DATA_MIRROR"
OFFLINE_VARIABLE = "TOMRL_OFFLINE"

Report = Callable[[str, int, int | None], None]
"""Called with a file's name, its bytes so far, and its size if known."""


class AlteredFile(UserError):
    """A file is missing, truncated or not the expected one."""


class DownloadError(Exception):
    """The server cannot be reached (``status`` None), or refuses; ``received`` bytes are kept."""

    def __init__(self, cause: Exception, received: int) -> None:
        reply = _refusal(cause)
        super().__init__(f"{reply.status_code} {reply.reason_phrase}" if reply else str(cause))
        self.status = reply.status_code if reply else None
        self.received = received


@dataclass(frozen=True, slots=True)
class Patience:
    """Retries and timeouts of a download.

    Attributes:
        attempts: Tries in which nothing arrives; a try that brings bytes is free.
        stall_seconds: Longest wait for the next bytes.
        backoff_seconds: Wait after the first failure; doubles up to ``longest_wait``.
    """

    attempts: int = 5
    stall_seconds: float = 30.0
    backoff_seconds: float = 1.0
    longest_wait: float = 60.0
    sleep: Callable[[float], None] = time.sleep


DEFAULT_PATIENCE = Patience()


@dataclass(frozen=True, slots=True)
class Expected:
    """Expected size and digests of a file; None is not compared.

    Attributes:
        git_blob: Object name in git, for files without a published sha256.
    """

    bytes: int | None = None
    sha256: str | None = None
    git_blob: str | None = None

    def __str__(self) -> str:
        parts = (
            None if self.bytes is None else f"{self.bytes:,} bytes",
            None if self.sha256 is None else f"sha256 {self.sha256}",
            None if self.git_blob is None else f"git blob {self.git_blob}",
        )
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file at an address, with the access token of its server; ``name`` is for messages."""

    name: str
    url: str
    expected: Expected = Expected()
    token: str | None = field(default=None, repr=False)


def verify(path: Path, expected: Expected, described: str = "") -> None:
    """Compare a file with its expected size and digests, ``described`` for the error.

    Raises:
        AlteredFile: If it is missing, truncated or altered.
    """
    wanted = described or str(expected)
    if not path.is_file():
        raise AlteredFile(f"{path}: missing; expected {wanted}")
    size = path.stat().st_size
    if expected.bytes is not None and size != expected.bytes:
        kind = "truncated" if size < expected.bytes else "altered"
        raise AlteredFile(f"{path}: {kind}, found {size:,} bytes, expected {wanted}")
    if expected.sha256 is not None and (found := file_digest(path)) != expected.sha256:
        raise AlteredFile(f"{path}: altered, found sha256 {found}, expected {wanted}")
    if expected.git_blob is not None and (found := git_blob(path)) != expected.git_blob:
        raise AlteredFile(f"{path}: altered, found git blob {found}, expected {wanted}")


def git_blob(path: Path) -> str:
    """Git's object name of a file: a sha1 over its size and bytes."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def download(
    remote: RemoteFile,
    part: Path,
    *,
    report: Report = lambda name, done, size: None,
    patience: Patience = DEFAULT_PATIENCE,
    described: str = "",
) -> None:
    """Download a file to ``part``, verified; resume what is there.

    Raises:
        DownloadError: If it is unavailable; the bytes so far stay in ``part``.
        AlteredFile: If the server has another file; ``part`` is then removed.
    """
    resumed = _size(part) > 0
    while True:
        _receive(remote, part, report, patience)
        try:
            verify(part, remote.expected, described)
        except AlteredFile:
            part.unlink()
            # The leftover of an earlier run may be what is wrong: one more try without it.
            if not resumed:
                raise
            resumed = False
            continue
        return


def _receive(remote: RemoteFile, part: Path, report: Report, patience: Patience) -> None:
    failures, wait = 0, patience.backoff_seconds
    while True:
        before = _size(part)
        try:
            _transfer(remote, part, report, patience)
            return
        except (httpx.HTTPError, ConnectionError) as error:
            reply = _refusal(error)
            failures = failures + 1 if _size(part) <= before else 0
            if failures >= patience.attempts or (
                reply is not None and reply.status_code not in _RETRIED_STATUS
            ):
                raise DownloadError(error, _size(part)) from error
            if failures:
                named = (named_wait(reply.headers) if reply else None) or 0.0
                patience.sleep(min(max(wait, named), patience.longest_wait))
                wait *= 2


def _transfer(remote: RemoteFile, part: Path, report: Report, patience: Patience) -> None:
    """Request the missing bytes once; ConnectionError if the connection ends early."""
    start, wanted = _size(part), remote.expected.bytes
    limit = _UNKNOWN_SIZE_LIMIT if wanted is None else wanted
    if wanted is not None and start >= wanted:
        part.touch()
        return
    with _reply(remote, start, patience.stall_seconds) as reply:
        if reply.status_code == 416:
            part.unlink()  # what is there is not a beginning of what the server has
            raise ConnectionError("the server refused to resume")
        reply.raise_for_status()
        resumes = reply.status_code == 206
        if resumes and _range_start(reply) != start:
            part.unlink(missing_ok=True)
            raise ConnectionError("the server sent another range than asked for")
        done = start if resumes else 0
        size = _stated_size(reply, done) or wanted
        with part.open("ab" if resumes else "wb") as out:
            for chunk in reply.iter_raw():
                out.write(chunk)
                done += len(chunk)
                report(remote.name, done, size)
                if done > limit:
                    break
    if size is not None and done < size:
        raise ConnectionError(f"connection closed after {done:,} of {size:,} bytes")


def _reply(
    remote: RemoteFile, start: int, timeout: float
) -> AbstractContextManager[httpx.Response]:
    """The server's response; redirects to another server lose the token."""
    headers = {"Accept-Encoding": "identity", "User-Agent": "tomrl"}
    if start:
        headers["Range"] = f"bytes={start}-"
    if remote.token:
        headers["Authorization"] = f"Bearer {remote.token}"
    trusted = ssl.create_default_context()  # by this machine
    return httpx.stream(
        "GET", remote.url, headers=headers, follow_redirects=True, timeout=timeout, verify=trusted
    )


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _stated_size(reply: httpx.Response, start: int) -> int | None:
    length = reply.headers.get("Content-Length", "")
    return start + int(length) if length.isdigit() else None


def _range_start(reply: httpx.Response) -> int | None:
    start = reply.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0]
    return int(start) if start.isdigit() else None


def _refusal(error: Exception) -> httpx.Response | None:
    return error.response if isinstance(error, httpx.HTTPStatusError) else None


def named_wait(headers: Mapping[str, str]) -> float | None:
    """The server's ``Retry-After`` in seconds, if any."""
    said = headers.get("retry-after", "")
    try:
        seconds = float(said)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(said).timestamp() - time.time()
        except (ValueError, TypeError):
            return None
    return max(0.0, seconds) if isfinite(seconds) else None


@contextmanager
def progress_bar(wanted: bool) -> Iterator[Report]:
    """Draw one progress bar per file, if there is a terminal."""
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
