"""What to run on a cluster, and how it ended."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypedDict

from pipeline.files import digest_of, folder_digests
from pipeline.plural import counted

# The exit status and the line by which a job says that its user, not the machine, must act.
USER_ERROR_STATUS = 3
USER_ERROR_LINE = "TOMRL_ERROR "

Status = Literal["succeeded", "failed", "stalled", "timed_out", "stopped"]


class RuntimeEnvironment(TypedDict):
    """The part of Ray's ``runtime_env`` that jobs use."""

    working_dir: str
    env_vars: dict[str, str]


@dataclass(frozen=True)
class Job:
    """A command with everything it needs.

    The command exits 0 when it is done and `USER_ERROR_STATUS` when a retry cannot help, after a
    line ``TOMRL_ERROR <what is wrong>``. Any other end counts as a failure that a retry continues
    from the job's own checkpoints, so the command must find them without being told.

    Attributes:
        name: For people; part of the submission id.
        arguments: The command, a Python program. It runs in a copy of ``folder``; ``python`` is
            that of the cluster's nodes or, on a private head, of the engine environment.
        folder: A small folder that is uploaded.
        environment: Variables of the job and its workers. They never reach a log.
        gpus: Accelerators (processes where ``cpu_only``) that the job takes on each node.
        nodes: Nodes that the job takes.
        cpu_only: The job computes on CPU: a private head then offers ``gpus`` accelerators that
            exist by name only.
        time_limit: Seconds for all attempts together.
        stall_limit: Seconds without progress after which an attempt that runs counts as hung.
        retries: How often a failed, lost or hung attempt is followed by another.
        requires: Modules that the job imports, each with the versions that fit (a specifier such
            as ``==0.9.1``, or an empty string), checked before the job starts.
    """

    name: str
    arguments: tuple[str, ...]
    folder: Path
    gpus: int
    time_limit: float
    stall_limit: float
    environment: Mapping[str, str] = field(default_factory=dict)
    nodes: int = 1
    cpu_only: bool = False
    retries: int = 0
    requires: Mapping[str, str] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """Return what all submissions of this job begin with: its name and a content digest.

        The environment is left out: it holds secrets and tracking ids, which may differ when a
        stage runs again and means to find its own job.
        """
        name = re.sub(r"[^A-Za-z0-9_.-]+", "-", self.name)
        content = digest_of([self.name, list(self.arguments), folder_digests(self.folder)])
        return f"{name}-{content[:12]}"

    @property
    def runtime_environment(self) -> RuntimeEnvironment:
        """Return Ray's ``runtime_env``: the uploaded folder and the variables.

        Packages come with the cluster's own image: Ray's ``image_uri`` cannot be combined with an
        uploaded folder.
        """
        return {"working_dir": str(self.folder), "env_vars": dict(self.environment)}


@dataclass(frozen=True)
class JobOutcome:
    """How a job ended.

    Attributes:
        status: ``stalled`` and ``timed_out`` name the limit that was reached; ``stopped`` means
            that somebody else stopped the job on the cluster.
        attempts: How many submissions this run followed.
        message: Why it did not succeed, with the last lines of its log; empty if it did.
    """

    status: Status
    attempts: int
    message: str

    def ended(self, why: str = "") -> str:
        """Return how the job ended, and ``why``: its message, unless better is known."""
        status = self.status.replace("_", " ")
        return f"the job {status} after {counted(self.attempts, 'attempt')}: {why or self.message}"
