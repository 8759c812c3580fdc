"""Stopping a run when its flow run is cancelled, or its process interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from threading import Event, Thread
from typing import TypeVar
from uuid import UUID

from prefect import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.runtime import deployment, flow_run
from prefect.states import Cancelled, State

from flows.driver.commands import Commands
from pipeline.base.processes import raise_on_sigterm

Result = TypeVar("Result")
_SECONDS_BETWEEN_LOOKS = 2.0


class StopRequested(Exception):
    """The process was interrupted ``by``; Prefect passes this on, where an interrupt would end its
    loop.
    """

    def __init__(self, by: KeyboardInterrupt) -> None:
        super().__init__("the process was asked to stop")
        self.by = by


def until_stopped(run: Callable[[Commands], Result]) -> Result | State:
    """Run commands until they are done or stopped; then return a cancelled state.

    They are stopped when the flow run is cancelled on Prefect's server, or this process
    interrupted. Exceptions of ``run`` are passed on, unless they were stopped.
    """
    if deployment.id is None:
        raise_on_sigterm()  # in place of Prefect's handler, after which the run has crashed
    asked: StopRequested | None = None
    with Commands() as commands, stopped_from_outside(commands) as stopped:
        try:
            result = run(commands)
        except KeyboardInterrupt as interrupt:
            asked = StopRequested(interrupt)
            commands.stop()
        except Exception:
            if not stopped.is_set():
                raise
    if asked or stopped.is_set():  # whoever called the flow has what is in its state raised
        return Cancelled(message="what ran was stopped; run it again to go on", data=asked)
    return result


@contextmanager
def stopped_from_outside(commands: Commands) -> Iterator[Event]:
    """Stop commands when the flow run is cancelled on Prefect's server, and set an event."""
    stopped, over = Event(), Event()
    this = UUID(flow_run.id)

    def watch() -> None:
        with get_client(sync_client=True) as client:
            while not over.wait(_SECONDS_BETWEEN_LOOKS):
                try:
                    cancelled = _is_cancelled(client.read_flow_run(this))
                except Exception:  # an outage, which hurts nobody but who would cancel
                    continue
                if cancelled:
                    stopped.set()
                    commands.stop()
                    return

    within = copy_context()  # where Prefect keeps which server is meant
    thread = Thread(target=within.run, args=(watch,), name="cancellation", daemon=True)
    thread.start()
    try:
        yield stopped
    finally:
        over.set()
        thread.join()


def _is_cancelled(run: FlowRun) -> bool:
    return run.state is not None and (run.state.is_cancelling() or run.state.is_cancelled())
