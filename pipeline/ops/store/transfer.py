"""Brings objects of the artifact store to a remote and back.

A remote keeps ``objects/DIGEST.json``, the listing of an object's files, and ``parts/SHA256``,
pieces of files. Parts alike are kept once, whichever object they are of, and each is compared with
its name when it arrives. A transfer that was interrupted goes on from the parts that are there. (A
multipart upload of S3 would begin anew, and what is left of it is paid for unseen.) A listing is
put last, so that an object that has one is whole.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from pipeline.base.disk import FULL
from pipeline.base.errors import UserError
from pipeline.base.locks import is_locked, locked
from pipeline.formats.files import digest_of, folder_digests, remove, replacing
from pipeline.formats.store import LocalStore
from pipeline.ops.store.listing import PART_BYTES, FileListing, Listing, listing_of, sha256_of
from pipeline.ops.store.remote import Altered, Missing, Remote, naming

_AT_ONCE = 8

Report = Callable[[int], None]
"""Called with the bytes of each part that is done."""


def push(
    store: LocalStore,
    remote: Remote,
    digest: str,
    report: Report,
    again: bool = False,
    part_bytes: int = PART_BYTES,
) -> None:
    """Put an object of the store into a remote; what is there already is not sent.

    Args:
        store: Has the object.
        remote: Receives it.
        digest: Of the object.
        report: Is told of each part.
        again: Read what the remote has, and replace what is altered.
        part_bytes: Size of the pieces that files are kept in.

    Raises:
        UserError: If the object is altered, or the remote refuses it.
        TransientError: If the remote cannot be reached.
    """
    folder = store.root / digest
    listing = listing_of(folder, part_bytes)
    if listing.digest != digest:
        raise UserError(
            f"artifact {digest[:12]} in {store.root} is altered and is not pushed: `tomrl store "
            "verify` names all that are. Delete it, then pull it or make it again"
        )

    def send(file: FileListing, start: int, sha256: str) -> int:
        with (folder / file.path).open("rb") as handle:
            handle.seek(start)
            piece = handle.read(listing.part_bytes)
        if not (_is_right if again else _exists)(remote, sha256):
            remote.put(part_key(sha256), piece)
        return len(piece)

    distinct = {sha256: (file, start, sha256) for file, start, sha256 in listing.parts}
    together([partial(send, *part) for part in distinct.values()], report)
    remote.put(listing_key(digest), listing.text().encode())


def pull(store: LocalStore, remote: Remote, digest: str, listing: Listing, report: Report) -> None:
    """Bring an object of a remote into the store.

    Args:
        store: Receives the object.
        remote: Has it.
        digest: Of the object.
        listing: Of the object, see :func:`read_listing`.
        report: Is told of each part.

    Raises:
        UserError: If the remote lacks a part of it, or has another one in its place.
        TransientError: If the remote cannot be reached; what has arrived is kept.
        OSError: If it cannot be written; nothing is kept then.
    """
    folder = partial_of(store, digest)
    with locked(folder.with_suffix(".lock")):
        if (store.root / digest).is_dir():  # another process has brought it
            return
        try:
            with naming(folder):
                _receive(folder, remote, listing, report)
                _settle(folder, store.root / digest, digest, remote)
        except OSError as error:
            if error.errno in FULL:
                remove(folder)
            raise


def partial_of(store: LocalStore, digest: str) -> Path:
    """Return the folder of an object that is being brought, or was when it was interrupted."""
    return store.root / f".{digest}.partial"


def abandoned(store: LocalStore, hours: float) -> list[Path]:
    """Return what is left of pulls that nobody has gone on with for some hours."""
    since = time.time() - 3600 * hours
    return [
        folder
        for folder in sorted(store.root.glob(".*.partial"))
        if folder.stat().st_mtime <= since and not is_locked(folder.with_suffix(".lock"))
    ]


def _receive(folder: Path, remote: Remote, listing: Listing, report: Report) -> None:
    begun = {file.path for file in listing.files if (folder / file.path).is_file()}
    for file in listing.files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as handle:
            handle.truncate(file.bytes)

    def fetch(file: FileListing, start: int, sha256: str) -> int:
        with (folder / file.path).open("r+b") as handle:
            handle.seek(start)
            if file.path in begun:
                there = handle.read(listing.part_bytes)
                if sha256_of(there) == sha256:
                    return len(there)
                handle.seek(start)
            piece = read_part(remote, sha256)
            handle.write(piece)
        return len(piece)

    together([partial(fetch, *part) for part in listing.parts], report)


def _settle(folder: Path, target: Path, digest: str, remote: Remote) -> None:
    """Give an object that has arrived its place, if it is what it should be."""
    folder.mkdir(parents=True, exist_ok=True)
    if digest_of(folder_digests(folder)) != digest:
        remove(folder)
        raise Altered(
            f"artifact {digest[:12]} does not come whole out of {remote.address}: its listing is "
            f"altered, or the disk is. {_REPAIR}"
        )
    with replacing(target) as temporary:
        folder.rename(temporary)


def has(remote: Remote, digest: str) -> bool:
    """Return whether a remote has an object."""
    return remote.exists(listing_key(digest))


def read_listing(remote: Remote, digest: str) -> Listing:
    """Return what a remote says of an object.

    Raises:
        Missing: If it does not have the object.
        Altered: If its listing is of no object of this digest.
    """

    def is_whole(content: bytes) -> bool:
        try:
            return Listing.model_validate_json(content).digest == digest
        except ValidationError:
            return False

    try:
        return Listing.model_validate_json(remote.get(listing_key(digest), is_whole))
    except Altered as error:
        raise Altered(f"{error}. {_REPAIR}") from None


def read_part(remote: Remote, sha256: str) -> bytes:
    """Return a piece of a file.

    Raises:
        UserError: If the remote lacks it or has another one in its place.
    """
    try:
        return remote.get(part_key(sha256), lambda content: sha256_of(content) == sha256)
    except (Missing, Altered) as error:
        raise type(error)(f"{error}. {_REPAIR}") from None


_REPAIR = "Mend it from a checkout that has the object: tomrl store push --check"


def _exists(remote: Remote, sha256: str) -> bool:
    return remote.exists(part_key(sha256))


def _is_right(remote: Remote, sha256: str) -> bool:
    try:
        read_part(remote, sha256)
    except (Missing, Altered):
        return False
    return True


def listing_key(digest: str) -> str:
    """Return the key of an object's listing."""
    return f"objects/{digest}.json"


def part_key(sha256: str) -> str:
    """Return the key of a part."""
    return f"parts/{sha256}"


def together(work: Iterable[Callable[[], int]], report: Report) -> None:
    """Do pieces of work side by side, and report what each returns; stop at the first error."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        under_way = [pool.submit(piece) for piece in work]
        try:
            for done in as_completed(under_way):
                report(done.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
