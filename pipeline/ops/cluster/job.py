"""What to run on a cluster, and how it ended."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pipeline.base.errors import UserError
from pipeline.formats.files import digest_of, folder_digests
from pipeline.formats.plural import counted

# The exit status and the line by which a job says that its user, not the machine, must act.
USER_ERROR_STATUS = 3
USER_ERROR_LINE = "TOMRL_ERROR "

LEAD_IN = "; its last lines:"
"""Stands between how a job ended and the last of its log."""

WAITS, HOLDS = "cluster: waiting for ", "cluster: holds "
"""How the lines begin by which a job says that it waits for its accelerators, and that it has them:
between the two no limit on its time runs.
"""

STEP, SAVED, NOTE = "TOMRL_STEP ", "TOMRL_SAVED ", "TOMRL_NOTE "
"""How the lines begin by which a job tells of a finished step, of the step that another attempt
would go on from, and of anything else.
"""

NODE_MINUTES = "TOMRL_NODE_MINUTES"
"""In the environment: how long a job waits for nodes that are started for it."""
NODE_DISK = "TOMRL_NODE_DISK"
"""In the environment: a folder that each node has on its own disk."""

ADDRESS_VARIABLES = ("RAY_API_SERVER_ADDRESS", "RAY_ADDRESS")
"""Name a cluster, in the order in which Ray reads them."""

Status = Literal["succeeded", "failed", "stalled", "timed_out", "stopped"]


def address_variable(environment: Mapping[str, str]) -> str | None:
    """The variable that names a cluster, or None if none does."""
    return next((name for name in ADDRESS_VARIABLES if environment.get(name)), None)


def node_minutes(environment: Mapping[str, str]) -> float:
    """How long to wait for nodes; 0 where a cluster is not said to start any.

    Raises:
        UserError: If it is no such number.
    """
    text = environment.get(NODE_MINUTES) or "0"
    try:
        minutes = float(text)
    except ValueError:
        minutes = math.nan
    if not 0 <= minutes < math.inf:
        raise UserError(
            f"{NODE_MINUTES}={text!r} is not a time; allowed: a number of minutes, such as 15, "
            "which a job waits for nodes that the cluster's autoscaler starts, or 0 for a cluster "
            "without"
        )
    return minutes


@dataclass(frozen=True)
class Job:
    """A command with everything it needs.

    The command exits 0 when it is done and `USER_ERROR_STATUS` when a retry cannot help, after a
    line ``TOMRL_ERROR <what is wrong>``. After any other end another attempt goes on from the job's
    own checkpoints, unless its verdict says that it cannot help; the command must find the
    checkpoints without being told.

    Attributes:
        name: For people; part of the submission id.
        arguments: The command, a Python program. It runs in a copy of ``folder``; ``python`` is
            that of the cluster's nodes or, on a private head, of the engine environment.
        folder: A small folder that is uploaded.
        environment: Variables of the job and its workers. They never reach a log.
        gpus: Accelerators that the job reserves on each node (:mod:`pipeline.ops.cluster.reserve`).
        nodes: Nodes on which it reserves them.
        own_gpus: Accelerators, or what part of one, that the command itself takes on any node. Ray
            begins it once they are free.
        own_cpus: Processor cores that the command itself takes on the same node.
        helper_cpus: Processor cores that Ray must have for what the job starts beside its ranks.
        rank_cpus: Processor cores that Ray must have for each rank, on its node.
        time_limit: Seconds for all attempts together, without what they wait for accelerators.
        stall_limit: Seconds without progress after which an attempt that runs counts as hung.
        start_limit: The same between its accelerators and its first step, if that is less.
        retries: How many attempts after a failed, lost or hung one may fail in a row without
            saving anything new.
        progress: How its lines of progress begin; until the first of them, every line is progress.
    """

    name: str
    arguments: tuple[str, ...]
    folder: Path
    gpus: int
    time_limit: float
    stall_limit: float
    start_limit: float = math.inf
    environment: Mapping[str, str] = field(default_factory=dict)
    nodes: int = 1
    own_gpus: float = 0.0
    own_cpus: int = 0
    helper_cpus: int = 0
    rank_cpus: int = 0
    retries: int = 0
    progress: str = STEP

    @property
    def identity(self) -> str:
        """What all submissions of this job begin with: its name and a content digest.

        The environment is left out: it holds secrets and tracking ids, which may differ when a
        stage runs again and means to find its own job.
        """
        name = re.sub(r"[^A-Za-z0-9_.-]+", "-", self.name)
        content = digest_of([self.name, list(self.arguments), folder_digests(self.folder)])
        return f"{name}-{content[:12]}"

    @property
    def queues(self) -> bool:
        """Whether Ray begins the command only when there is room; else it is on the head."""
        return bool(self.own_gpus or self.own_cpus)


@dataclass(frozen=True)
class Diagnosis:
    """What is to be done about a failed attempt.

    Attributes:
        cause: What happened, in a few words.
        message: The same with what the log says, and what to change.
        again: Whether another attempt may help.
    """

    cause: str
    message: str
    again: bool


@dataclass(frozen=True)
class JobOutcome:
    """How a job ended.

    Attributes:
        status: ``stalled`` and ``timed_out`` name the limit that was reached; ``stopped`` means
            that somebody else stopped the job on the cluster.
        attempts: How many submissions this run followed.
        message: Why it did not succeed, with the last lines of its log; empty if it did.
        verdict: What is to be done about its failure, where that is known.
    """

    status: Status
    attempts: int
    message: str
    verdict: Diagnosis | None = None

    def error(self, about: str, then: str = "") -> UserError:
        """The error that a job ends in which did not succeed; its own retries are used up.

        Args:
            about: What the job was for.
            then: A further line.
        """
        why = self.verdict.message if self.verdict else self.message
        status = self.status.replace("_", " ")
        message = f"{about}: the job {status} after {counted(self.attempts, 'attempt')}: {why}"
        return UserError("\n".join(filter(None, [message, then])))
