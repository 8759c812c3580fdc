"""Looks after what a remote of the artifact store holds: is it whole, and does anything name it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from pipeline.ops.store.remote import Altered, Entry, Missing, Remote
from pipeline.ops.store.transfer import listing_key, part_key, read_listing, read_part, together


def objects_of(remote: Remote) -> dict[str, float]:
    """Return when each object was put into a remote, in seconds since 1970."""
    listings = remote.list("objects")
    return {_name(entry).removesuffix(".json"): entry.put_at for entry in listings}


def faults_of(remote: Remote, digests: Iterable[str]) -> list[str]:
    """Read objects of a remote to the end; return what is missing or altered."""
    faults: list[str] = []
    parts: set[str] = set()

    def note(read: Callable[[], object]) -> int:
        try:
            read()
        except (Missing, Altered) as error:
            faults.append(str(error))
        return 0

    def read_object(digest: str) -> None:
        parts.update(sha256 for _, _, sha256 in read_listing(remote, digest).parts)

    together([partial(note, partial(read_object, digest)) for digest in digests], _ignore)
    together([partial(note, partial(read_part, remote, sha256)) for sha256 in parts], _ignore)
    return sorted(faults)


@dataclass(frozen=True)
class Unneeded:
    """What may be removed from a remote.

    Attributes:
        listings: Of objects that nothing names.
        parts: Of no other object, and those of pushes that never ended.
    """

    listings: tuple[Entry, ...]
    parts: tuple[Entry, ...]

    @property
    def bytes(self) -> int:
        """Return what it takes."""
        return sum(entry.bytes for entry in (*self.listings, *self.parts))


def unneeded(remote: Remote, unused: frozenset[str], since: float) -> Unneeded:
    """Return what a remote can do without.

    Args:
        remote: Must not be pushed to meanwhile.
        unused: Its objects that nothing names.
        since: When a part of no object was put there, by the remote's clock, that is kept: a push
            may be under way.

    Raises:
        UserError: If the listing of another object cannot be read: its parts are not known.
    """
    listings = {entry.key: entry for entry in remote.list("objects")}
    dropped = {listing_key(digest) for digest in unused}
    kept = [
        _name(entry).removesuffix(".json") for key, entry in listings.items() if key not in dropped
    ]
    needed = {
        part_key(sha256) for name in kept for _, _, sha256 in read_listing(remote, name).parts
    }
    return Unneeded(
        tuple(entry for key, entry in listings.items() if key in dropped),
        tuple(e for e in remote.list("parts") if e.key not in needed and e.put_at <= since),
    )


def remove(remote: Remote, entries: Unneeded) -> None:
    """Remove what a remote can do without: listings first, so that none names what has gone."""
    for some in (entries.listings, entries.parts):
        together([partial(_delete, remote, entry) for entry in some], _ignore)


def _delete(remote: Remote, entry: Entry) -> int:
    remote.delete(entry.key)
    return entry.bytes


def _name(entry: Entry) -> str:
    return entry.key.rpartition("/")[2]


def _ignore(done: int) -> None:
    pass
