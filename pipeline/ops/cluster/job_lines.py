"""What a training job and its stage tell each other: its task, lines on its output, its result."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable
from pathlib import Path

from pipeline.base.disk import FULL
from pipeline.base.errors import UserError
from pipeline.config.params import TrainedCell
from pipeline.formats.records import Record
from pipeline.formats.weights import WeightsFolder
from pipeline.ops.cluster.job import NOTE, USER_ERROR_LINE, USER_ERROR_STATUS

RESULT = "TOMRL_RESULT "
"""How the line begins by which a job tells its stage the digest of the result."""

SPEC = "job.json"
"""What the job is to do, in the folder that is uploaded."""
OUTCOME = "outcome.json"
"""The record that the result holds."""


class Overtaken(Exception):
    """Another attempt has taken over, and this one must write nothing more."""


class TrainingSpec(Record):
    """One training run, as far as every backend's job must know it.

    Attributes:
        key: Key of the cell.
        cell: The cell.
        base: Digest of the base model.
        made_by: The stage that made the base model.
        weights: Folder of the base model, which that stage left.
        state: The state folder.
    """

    key: str
    cell: TrainedCell
    base: str
    made_by: str
    weights: str
    state: str

    @property
    def kept(self) -> WeightsFolder:
        return WeightsFolder(Path(self.state) / "kept", f"train@{self.key}")

    def start(self) -> Path:
        """The folder of the base model, on a node.

        Raises:
            UserError: If the node does not see it, or it is altered.
        """
        for shared in (self.weights, self.state):
            if not Path(shared).is_dir():
                raise unseen(shared, platform.node())
        return WeightsFolder(Path(self.weights), self.made_by).get(self.base)


def unseen(path: str, node: str) -> UserError:
    """The error of a node that does not see what it is to work with."""
    return UserError(
        f"{path} is not on the node {node}: the checkout must lie in a folder that this machine "
        "and every node of the cluster see under the same path"
    )


class JobResult(Record):
    """``result.json`` of the state folder: the job is done.

    Attributes:
        digest: Of the result, which holds an outcome.
    """

    digest: str


def say(kind: str, text: str) -> None:
    # In one piece, and on a line of its own: Ray's thread prints what the workers say meanwhile.
    print(f"\n{kind}{' '.join(text.split())}\n", end="", flush=True)


def work_off(job: Callable[[], str]) -> None:
    """Do a job and tell the stage the digest of its result, or why there is none.

    Raises:
        SystemExit: If there is none.
    """
    try:
        digest = job()
    except Overtaken as error:
        say(NOTE, f"ends and writes nothing more: {error}")
        sys.exit(1)
    except UserError as error:
        say(USER_ERROR_LINE, str(error))
        sys.exit(USER_ERROR_STATUS)
    except OSError as error:
        if error.errno not in FULL:
            raise
        say(
            USER_ERROR_LINE,
            f"no room to write {error.filename or 'its results'} ({error.strerror}); the "
            "checkpoints are kept. Free some disk space and run it again: it goes on from there",
        )
        sys.exit(USER_ERROR_STATUS)
    say(RESULT, digest)
