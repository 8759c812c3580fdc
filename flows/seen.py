"""Tag and heartbeats, by which a Prefect server watches runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prefect import tags
from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

HEARTBEAT_SECONDS = 60
"""Seconds between heartbeats."""

TAG = "tomrl"
"""The tag of watched runs; deployments in prefect.yaml have it too."""


@contextmanager
def looked_after() -> Iterator[None]:
    """Give the runs of this block heartbeats and the tag.

    Otherwise a permanent server would show a killed run as running for ever.
    """
    beats = temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: HEARTBEAT_SECONDS})
    with beats, tags(TAG):
        yield
