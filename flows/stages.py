"""The task that runs one DVC stage: its log streamed, stopped with the commands of its flow."""

from __future__ import annotations

from prefect import get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.states import Cancelled, State

from flows.commands import Commands
from pipeline.ops.driver.checkout import dvc_command


@task(name="stage", task_run_name="{stage}", cache_policy=NO_CACHE)
def run_stage(stage: str, commands: Commands) -> State | None:
    """Run one DVC stage unless it is up to date; return a cancelled state if it was stopped.

    Args:
        stage: The stage.
        commands: What runs it, and stops it.

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

    status = commands.run(dvc_command("repro", "--single-item", stage), keep)
    if commands.stopped:
        return Cancelled(message="it was stopped")
    if status:
        raise RuntimeError(f"stage {stage} failed with status {status}:\n" + "\n".join(tail))
    return None
