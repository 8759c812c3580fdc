"""By what a Prefect server sees which runs to look after, and whether they live."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prefect import tags
from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

HEARTBEAT_SECONDS = 60
"""How often a run says that it lives."""

TAG = "tomrl"
"""What runs carry that automations look after; deployments in prefect.yaml have it too."""


@contextmanager
def looked_after() -> Iterator[None]:
    """Have the runs of this block say that they live, and carry the tag of automations.

    Else a server that stays would show one whose process was killed as running for ever.
    """
    beats = temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: HEARTBEAT_SECONDS})
    with beats, tags(TAG):
        yield
