"""The task that runs one DVC stage: its own process group, its log streamed, cancellable."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from prefect import get_run_logger, task
from prefect.cache_policies import NO_CACHE

from pipeline.checkout import ask_dvc, dvc_command, stage_environment
from pipeline.config.params import Params
from pipeline.leftovers import mend_dvc
from pipeline.processes import GRACE_SECONDS


def stage_names(params: Params) -> list[str]:
    """Return the DVC stages of a study in an order that respects their dependencies."""
    return [
        "code",
        *(f"acquire@{key}" for key in params.acquire),
        "sources",
        *(f"dataset@{key}" for key in params.dataset),
        "suite",
        "audit",
        *(f"base@{key}" for key in params.base),
        *(f"{stage}@{key}" for key in params.cells for stage in ("train", "evaluate", "gsm8k")),
        "report",
    ]


def changed_stages(root: Path) -> set[str]:
    """Return the stages that DVC would run now; what depends on them is not included.

    Raises:
        UserError: If DVC cannot read the pipeline.
    """
    mend_dvc(root)
    return set(json.loads(ask_dvc(root, "status", "--json") or "{}"))


@task(name="stage", task_run_name="{stage}", cache_policy=NO_CACHE)
def run_stage(stage: str, root: Path) -> None:
    """Run one DVC stage unless it is up to date.

    Raises:
        RuntimeError: If the stage fails; its last lines are in the message.
    """
    log = get_run_logger()
    tail: list[str] = []

    def keep(line: str) -> None:
        if not line:
            return
        log.info(line)
        tail.append(line)
        del tail[:-15]

    status = stream(dvc_command("repro", "--single-item", stage), root, keep)
    if status:
        raise RuntimeError(f"stage {stage} failed with status {status}:\n" + "\n".join(tail))


def stream(command: list[str], root: Path, hear: Callable[[str], None]) -> int:
    """Run a command in its own process group and pass on its output line by line.

    If the caller is interrupted or cancelled, the whole group is stopped, and it stops by itself if
    the caller is killed.
    """
    with _group(command, root) as process:
        assert process.stdout is not None
        for line in process.stdout:
            hear(line.rstrip())
        return process.wait()


@contextmanager
def _group(command: list[str], root: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command,
        cwd=root,
        env=stage_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            _stop(process)


def _stop(process: subprocess.Popen[str]) -> None:
    """Ask the process group to stop, and kill it if it does not.

    By Ctrl-C, for which DVC waits until its stage has stopped; SIGTERM would end DVC alone at once.
    """
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
