"""The task that runs one DVC stage: its own process group, its log streamed, cancellable."""

from __future__ import annotations

from pathlib import Path

from prefect import get_run_logger, task
from prefect.cache_policies import NO_CACHE

from flows.commands import Commands
from pipeline.checkout import dvc_command


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

    with Commands(root) as commands:
        status = commands.run(dvc_command("repro", "--single-item", stage), keep)
    if status:
        raise RuntimeError(f"stage {stage} failed with status {status}:\n" + "\n".join(tail))
