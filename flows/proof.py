"""The smallest real flow: proof that an installed set of packages can run Prefect.

Run with ``python -m flows.proof``; ``make lock`` does before it accepts new constraints.
"""

from __future__ import annotations

from prefect import flow, task
from prefect.cache_policies import NO_CACHE


@task(cache_policy=NO_CACHE)
def double(number: int) -> int:
    """Return twice the number."""
    return 2 * number


@flow
def proof() -> int:
    """Run one task on Prefect's own temporary server."""
    result: int = double(21)
    return result


if __name__ == "__main__":
    assert proof() == 42
