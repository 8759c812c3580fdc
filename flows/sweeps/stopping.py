"""Stopping what runs here when its flow run is cancelled on Prefect's server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from threading import Event, Thread
from uuid import UUID

from prefect import get_client
from prefect.client.schemas.objects import FlowRun
from prefect.runtime import flow_run

from flows.commands import Commands

_SECONDS_BETWEEN_LOOKS = 2.0


class SweepInterrupted(Exception):
    """The process was asked to stop: Prefect hands this on, where an interrupt would end its loop.

    Args:
        by: What was raised then.
    """

    def __init__(self, by: KeyboardInterrupt) -> None:
        super().__init__("the process was asked to stop")
        self.by = by


@contextmanager
def stopped_from_outside(commands: Commands) -> Iterator[Event]:
    """Stop commands when the flow run is cancelled on Prefect's server, and say so by an event.

    The run that began this one, if one did, counts too: it is the one that a person sees.
    """
    stopped, over = Event(), Event()
    runs = [UUID(run) for run in (flow_run.id, flow_run.parent_flow_run_id) if run]

    def watch() -> None:
        with get_client(sync_client=True) as client:
            while not over.wait(_SECONDS_BETWEEN_LOOKS):
                try:
                    cancelled = any(_is_cancelled(client.read_flow_run(run)) for run in runs)
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
    """Return whether somebody has cancelled a run, whether or not it has stopped yet."""
    return run.state is not None and (run.state.is_cancelling() or run.state.is_cancelled())
