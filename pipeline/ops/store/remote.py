"""A place for artifacts that several machines reach: a folder, or a bucket behind the S3 API."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pipeline.base.errors import UserError
from pipeline.formats.files import replacing

REMOTE_VARIABLE = "TOMRL_STORE_REMOTE"
_BUCKET = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^?#@]*)?")

IsWhole = Callable[[bytes], bool]
"""Says whether bytes are what was put under a key."""


class Missing(UserError):
    """A remote does not have what was asked for."""


class Altered(UserError):
    """A remote has something else than what was put there."""


@dataclass(frozen=True)
class Entry:
    """Something in a remote.

    Attributes:
        key: Its name, from the remote's address on.
        bytes: Its size.
        put_at: When it was put there, in seconds since 1970.
    """

    key: str
    bytes: int
    put_at: float


class Remote(Protocol):
    """What is kept under an address, by key; safe to use from several threads.

    Every method raises ``UserError`` where the address is wrong or access is refused, and
    ``TransientError`` where a server cannot be reached.
    """

    address: str

    def exists(self, key: str) -> bool:
        """Return whether there is something under a key."""

    def get(self, key: str, is_whole: IsWhole) -> bytes:
        """Return what is under a key.

        Raises:
            Missing: If there is nothing.
            Altered: If it is not whole, however often it is asked for.
        """

    def put(self, key: str, content: bytes) -> None:
        """Keep bytes under a key: all of them, or nothing."""

    def list(self, folder: str) -> Iterator[Entry]:
        """Yield what is in a folder, that is, under the keys that begin with its name."""

    def delete(self, key: str) -> None:
        """Remove what is under a key, if there is anything."""

    def now(self) -> float:
        """Return the time by the clock that ``Entry.put_at`` goes by, in seconds since 1970."""


class FolderRemote:
    """A folder that others see too, such as one of a network file system."""

    def __init__(self, folder: Path) -> None:
        self.address = str(folder)
        self._folder = folder

    def exists(self, key: str) -> bool:
        """Return whether there is something under a key."""
        return (self._folder / key).is_file()

    def get(self, key: str, is_whole: IsWhole) -> bytes:
        """Return what is under a key."""
        try:
            content = (self._folder / key).read_bytes()
        except FileNotFoundError:
            raise Missing(f"{self.address} has no {key}") from None
        if not is_whole(content):
            raise Altered(f"{key} in {self.address} is altered")
        return content

    def put(self, key: str, content: bytes) -> None:
        """Keep bytes under a key."""
        with naming(self._folder / key), replacing(self._folder / key) as temporary:
            temporary.write_bytes(content)

    def list(self, folder: str) -> Iterator[Entry]:
        """Yield what is in a folder."""
        for path in sorted((self._folder / folder).glob("*")):
            about = path.stat()
            yield Entry(f"{folder}/{path.name}", about.st_size, about.st_mtime)

    def delete(self, key: str) -> None:
        """Remove what is under a key, if there is anything."""
        (self._folder / key).unlink(missing_ok=True)

    def now(self) -> float:
        """Return the time that the file system, perhaps another machine's, gives a new file."""
        if not self._folder.is_dir():
            return time.time()
        with naming(self._folder), tempfile.TemporaryFile(dir=self._folder) as file:
            return os.fstat(file.fileno()).st_mtime


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put a path into errors of the system that name none, as those of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from error
        raise


def open_remote(address: str | None) -> Remote:
    """Return the remote of an address.

    Args:
        address: ``s3://BUCKET/PREFIX`` or a folder; ``TOMRL_STORE_REMOTE`` if None.

    Raises:
        UserError: If there is no address, or if it is neither of these.
    """
    address = address if address is not None else os.environ.get(REMOTE_VARIABLE, "")
    if not address:
        raise UserError(
            f"the store has no remote: set {REMOTE_VARIABLE}, or name it with --remote: "
            "s3://BUCKET/PREFIX, or a folder that others see too"
        )
    if _BUCKET.fullmatch(address):
        from pipeline.ops.store.bucket import BucketRemote

        return BucketRemote(address.rstrip("/"))
    if "://" in address:  # it is not shown: there may be a password in it
        raise UserError(
            f"the address of the remote ({REMOTE_VARIABLE} or --remote) begins with "
            f"{address.partition('://')[0][:20]}:// and is no s3://BUCKET/PREFIX, nor a folder. "
            "Credentials stand in no address; another server of the S3 API is named in "
            "AWS_ENDPOINT_URL"
        )
    folder = Path(address).expanduser().resolve()
    if folder.exists() and not folder.is_dir():
        raise UserError(f"the remote {folder} is a file; name a folder ({REMOTE_VARIABLE})")
    return FolderRemote(folder)
