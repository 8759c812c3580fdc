"""A lease on a folder: one process works there, and the next only when that one has ended.

A cluster can report a job as failed that lives on (ray#65025), so its word is no proof. Instead the
holder renews a lease on a file system that all see. Each holder has a file ``NNNNNN.json`` of the
next higher number: who it is, and later how its lease ended. Numbers are claimed by a hard link,
which one of several wins and which never shows half a file; they are not used twice. To renew is to
touch the file, which takes no room on a full disk.

A lease is over when its holder has given it back, when the holder's process is seen to be gone on
this machine, or when it has not been renewed for :data:`LEASE_SECONDS`. The last is judged by
whether the file changes while this process watches, on this process's own clock: what the clocks of
two machines say is never compared.

A holder that was held up so long cannot be kept from waking up. It asks :meth:`Lease.check` before
it writes, and what it writes lies in a folder of its own name, which the next holder has renamed.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from pydantic import ValidationError

from pipeline.base.errors import UserError
from pipeline.base.processes import began, lives, space
from pipeline.formats.files import replacing
from pipeline.formats.records import Record

LEASE_SECONDS = 90.0
RENEW_SECONDS = 10.0
POLL_SECONDS = 0.5
SAY_SECONDS = 60.0


class LeaseLost(Exception):
    """This process no longer holds its lease, and must write nothing more."""


class Holder(Record):
    """Who holds a lease.

    Attributes:
        owner: An id that no other holder has.
        submission: Its submission on the cluster; empty if it has none.
        host: Name of its machine, for people.
        machine: Where its process number means something: boot and process namespace.
        process: Its process number.
        started: When the process started, in clock ticks after the boot.
        ended: How the lease ended; empty while it is held.
    """

    owner: str
    submission: str
    host: str
    machine: str
    process: int
    started: int
    ended: str = ""

    @classmethod
    def here(cls, submission: str) -> Holder:
        """This process as a holder."""
        return cls(
            owner=uuid4().hex[:8],
            submission=submission,
            host=socket.gethostname(),
            machine=space(),
            process=os.getpid(),
            started=began(os.getpid()) or 0,
        )

    def describe(self) -> str:
        """Who it is, for people."""
        job = f"job {self.submission}, " if self.submission else ""
        return f"{job}process {self.process} on {self.host}"

    def is_gone(self) -> bool:
        """Whether its process is seen to have ended; False where that cannot be seen."""
        return (
            bool(self.machine) and self.machine == space() and not lives(self.process, self.started)
        )


@dataclass(frozen=True)
class LeaseClaim:
    """What stands in the file of a number.

    Attributes:
        number: The number.
        holder: Whose it is; None if the file is damaged.
        renewed: When it was renewed, by the file system's clock: only changes of it say anything.
    """

    number: int
    holder: Holder | None
    renewed: int

    def describe(self) -> str:
        """Whose it is, for people."""
        return self.holder.describe() if self.holder else "somebody whose lease is damaged"


@dataclass
class LeaseWatch:
    """Measures how long something has not changed, on the clock of whoever watches."""

    _seen: object = None
    _since: float = field(default=0.0)

    def unchanged(self, seen: object, now: float) -> float:
        """For how many seconds ``seen`` has been the same, at the time ``now``."""
        if seen != self._seen:
            self._seen, self._since = seen, now
        return now - self._since


def how_over(claim: LeaseClaim, unchanged: float) -> str | None:
    """How a lease ended, or None if it must be taken as held.

    Args:
        claim: The lease.
        unchanged: For how many seconds it has not been renewed.
    """
    if claim.holder and claim.holder.ended:
        return claim.holder.ended
    if claim.holder and claim.holder.is_gone():
        return "its process has ended"
    if unchanged >= LEASE_SECONDS:
        return f"it was not renewed for {unchanged:.0f} s"
    return None


@dataclass(frozen=True)
class Lease:
    """A lease as its holder knows it.

    Attributes:
        folder: Folder of all holders' files.
        number: Number of this holder.
        owner: Its id.
    """

    folder: Path
    number: int
    owner: str

    @property
    def name(self) -> str:
        """A name that no other holder has; later ones sort after it."""
        return f"{self.number:06d}-{self.owner}"

    @property
    def path(self) -> Path:
        """The holder's file."""
        return _path(self.folder, self.number)

    @classmethod
    def named(cls, folder: Path, name: str) -> Lease:
        """The lease of a :attr:`name`."""
        number, _, owner = name.partition("-")
        return cls(folder, int(number), owner)

    def check(self) -> None:
        """Check that the lease is still held.

        Raises:
            LeaseLost: If it is not; says who has it.
        """
        last = last_claim(self.folder)
        if last is None:
            raise LeaseLost(f"its lease in {self.folder} was removed")
        if last.number != self.number:
            raise LeaseLost(f"its lease was taken over by {last.describe()}")
        if last.holder is None:
            raise LeaseLost(f"its lease {self.path} is damaged")
        if last.holder.owner != self.owner or last.holder.ended:
            raise LeaseLost(f"its lease ended: {last.holder.ended or 'it is of another'}")

    def is_held(self) -> bool:
        """Whether the lease is still held."""
        try:
            self.check()
        except LeaseLost:
            return False
        return True

    def renew(self) -> None:
        """Show that the holder lives."""
        os.utime(self.path)


@contextmanager
def hold(
    folder: Path, holder: Holder, *, above: int, say: Callable[[str], None]
) -> Iterator[tuple[Lease, threading.Event]]:
    """Wait for the lease on a folder, hold it during the block, and give it back.

    Args:
        folder: Where the files of all holders lie.
        holder: Who takes it.
        above: The number is higher than this one and all that were taken.
        say: Called with a remark, while it waits.

    Yields:
        The lease, and an event that is set when it is seen to be lost.

    Raises:
        LeaseLost: If the block fails to read or write, and the lease is lost.
        UserError: If the file system has no hard links.
    """
    lease = _acquire(folder, holder, above, say)
    ended, lost = threading.Event(), threading.Event()
    thread = threading.Thread(target=_keep, args=(lease, ended, lost), name="lease", daemon=True)
    thread.start()
    try:
        yield lease, lost
    except OSError:
        with suppress(OSError):  # the file system itself fails
            lease.check()  # what was taken over is not where it was
        raise
    finally:
        ended.set()
        thread.join()
        with suppress(OSError):  # else the lease runs out
            if lease.is_held():
                _end(folder, lease.number, holder, "given back")


def last_claim(folder: Path) -> LeaseClaim | None:
    """The lease of the highest number, held or over; None if there never was one."""
    numbers = [int(path.stem) for path in folder.glob("[0-9]*.json")]
    return _read(folder, max(numbers)) if numbers else None


def _acquire(folder: Path, holder: Holder, above: int, say: Callable[[str], None]) -> Lease:
    watch, said = LeaseWatch(), -SAY_SECONDS
    while True:
        last = last_claim(folder)
        now = time.monotonic()
        how = how_over(last, watch.unchanged(last, now)) if last else "never held"
        if how is not None:
            number = max(above, last.number if last else 0) + 1
            if last and last.holder and not last.holder.ended:
                _end(folder, last.number, last.holder, how)
            lease = Lease(folder, number, holder.owner)
            if _claim(lease, holder) and lease.is_held():
                return lease
        elif now - said > SAY_SECONDS and last:
            said = now
            say(
                f"waits for the attempt before it ({last.describe()}), whose lease is not over. To "
                f"end that one, remove {folder}"
            )
        time.sleep(POLL_SECONDS)


def _keep(lease: Lease, ended: threading.Event, lost: threading.Event) -> None:
    """Renew until the end, or until the lease is lost."""
    while not ended.wait(RENEW_SECONDS):
        with suppress(OSError):  # the file system is away; who cannot renew is overtaken in time
            if not lease.is_held():
                lost.set()
                return
            lease.renew()


def _claim(lease: Lease, holder: Holder) -> bool:
    """Take a number; return whether nobody was faster."""
    lease.folder.mkdir(parents=True, exist_ok=True)
    temporary = lease.folder / f".{lease.name}.tmp"
    temporary.write_text(holder.model_dump_json(), encoding="utf-8")
    try:
        os.link(temporary, lease.path)
    except FileExistsError:
        return temporary.stat().st_nlink > 1  # over NFS the answer to a link may be lost
    except OSError as error:
        raise UserError(
            f"{lease.folder}: its file system has no hard links ({error.strerror}), by which "
            "attempts of a job keep out of each other's way; put the checkout's work/ folder on "
            "one that has"
        ) from error
    finally:
        temporary.unlink()
    return True


def _end(folder: Path, number: int, holder: Holder, how: str) -> None:
    """Write how a lease ended in place of what stood there: a number is never free again."""
    over = holder.model_copy(update={"ended": how})
    with replacing(_path(folder, number)) as temporary:
        temporary.write_text(over.model_dump_json(), encoding="utf-8")


def _read(folder: Path, number: int) -> LeaseClaim | None:
    try:
        with _path(folder, number).open("rb") as file:  # opening asks a file server anew
            renewed, content = os.fstat(file.fileno()).st_mtime_ns, file.read()
    except FileNotFoundError:
        return None
    try:
        return LeaseClaim(number, Holder.model_validate_json(content), renewed)
    except ValidationError:
        return LeaseClaim(number, None, renewed)


def _path(folder: Path, number: int) -> Path:
    return folder / f"{number:06d}.json"
