"""Where the attempts of a job lie in its state folder, and how each keeps out of the others' way.

A cluster can report a job as failed that lives on (ray#65025), so its word is no proof. Instead an
attempt owns the folder by a lock of the kernel's, which file systems of clusters pass on, such as
NFS 4, and which their server takes from a node that is gone. It writes in a folder of its own,
``attempts/NAME``. The next one takes over by renaming that folder: whatever an attempt that has
lost the lock, as on a machine that was frozen, still writes by its old path lies where nobody
looks. It asks (:meth:`JobAttempt.check`) before anything counts that it has written.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from uuid import uuid4

from pipeline.base.errors import UserError
from pipeline.base.ownership import in_use, owned
from pipeline.formats.files import replacing
from pipeline.ops.cluster.job import NOTE
from pipeline.ops.cluster.job_lines import OUTCOME, JobResult, Overtaken, TrainingSpec, say
from pipeline.train.contract import Outcome
from pipeline.train.kept_rollouts import LINES

SAY_SECONDS = 60.0


@dataclass(frozen=True)
class JobAttempt:
    """One attempt at a job.

    Attributes:
        root: The state folder; every node of the cluster sees it under the same path.
        name: A name that no other attempt has; later ones sort after it.
    """

    root: Path
    name: str

    @classmethod
    def take_over(cls, root: Path) -> Self:
        """The next attempt, with what the last one left.

        What earlier ones wrote after they ended is removed.
        """
        earlier = _names(root)
        number = int(earlier[-1].partition("-")[0]) if earlier else 0
        attempt = cls(root, f"{number + 1:06d}-{uuid4().hex[:8]}")
        if earlier:
            (attempts_folder(root) / earlier.pop()).rename(attempt.folder)
        else:
            attempt.folder.mkdir(parents=True)
        for stray in earlier:
            shutil.rmtree(attempts_folder(root) / stray, ignore_errors=True)  # it may be written to
        return attempt

    @property
    def folder(self) -> Path:
        """Its own folder."""
        return attempts_folder(self.root) / self.name

    def check(self) -> None:
        """Check that no other attempt has taken over.

        Raises:
            Overtaken: If one has; says which.
        """
        last = next(reversed(_names(self.root)), "one that is done")
        if last != self.name:
            raise Overtaken(f"its place was taken by {last}")


def attempts_folder(root: Path) -> Path:
    """The folder of the attempts' own folders."""
    return root / "attempts"


def _names(root: Path) -> list[str]:
    folder = attempts_folder(root)
    return sorted(path.name for path in folder.glob("*-*"))


def train_once(spec: TrainingSpec, train: Callable[[JobAttempt], Outcome]) -> str:
    """Train as the only attempt, and return the digest of the result.

    Once the result is kept nothing of the attempts is left, and it is returned again.

    Args:
        spec: The run.
        train: Trains, going on from what is in the attempt's folder.

    Raises:
        Overtaken: If another attempt took over.
        BaseException: What ``train`` raises, unless that is why.
    """
    root = Path(spec.state)
    result = root / "result.json"
    with _alone(root):
        if not result.is_file():
            JobResult(digest=_train(spec, train, JobAttempt.take_over(root))).write(result)
        shutil.rmtree(attempts_folder(root), ignore_errors=True)  # who is late may write there yet
        return JobResult.read(result, f"train@{spec.key}").digest


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Own the attempts during the block; wait for the one before to end, and say so by and by."""
    folder = attempts_folder(root)
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(owned(folder, SAY_SECONDS))
                break
            except UserError:
                say(NOTE, f"waits for the previous attempt: {in_use(folder)}")
        yield


def _train(spec: TrainingSpec, train: Callable[[JobAttempt], Outcome], attempt: JobAttempt) -> str:
    """Train, and keep the result."""
    try:
        outcome = train(attempt)
    except BaseException:
        attempt.check()  # an attempt that was overtaken says that, not how it ended
        raise
    attempt.check()
    with replacing(attempt.folder / "result") as temporary:
        outcome.write(temporary / OUTCOME)
        if (attempt.folder / LINES).is_file():
            shutil.copy(attempt.folder / LINES, temporary / LINES)
    digest = spec.kept.take(attempt.folder / "result")
    attempt.check()
    return digest
