"""What PyTorch and NCCL say in a job's log of an operation that all of its accelerators share.

Its lines as torch 2.11 writes them (``ProcessGroupNCCL.cpp``), after what Ray 2.60 puts before the
lines of a worker, which names the worker's node unless that is the job's own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

BROKEN = re.compile(
    r"Watchdog caught collective operation timeout|due to a collective timeout"
    r"|ProcessGroupNCCL watchdog hang|NCCL error|nccl(Remote|System|Internal)Error"
)
"""What a line says of an operation that did not end, or whose connections broke."""

_OPERATION = re.compile(r"OpType=(\w+).* ran for (\d+) milliseconds")
_RANK = re.compile(r"\[(?:PG [^\]]*)?[Rr]ank ?(\d+)\]")  # before all others its rank in the job
_NODE = re.compile(r"^(?:\x1b\[\d+m)?\(\S+ pid=\d+, ip=([^)]+)\)")
_OWN = "the job's own node"


def who_waited(lines: Sequence[str]) -> str:
    """Which operation did not end, if that is said, and on which nodes who met it.

    Args:
        lines: Lines of the log that `BROKEN` fits, as Ray shows them.
    """
    ended = [found for line in lines if (found := _OPERATION.search(line))]
    what = f"{ended[-1][1]} had not ended after {int(ended[-1][2]) / 1000:.0f} s; " if ended else ""
    ranks: dict[str, set[int]] = {}
    for line in lines:
        node = _NODE.search(line)
        on = ranks.setdefault(node[1] if node else _OWN, set())
        if rank := _RANK.search(line):
            on.add(int(rank[1]))
    return f"{what}seen on {', '.join(_place(node, ranks[node]) for node in sorted(ranks))}"


def _place(node: str, ranks: set[int]) -> str:
    return f"{node} (rank {', '.join(map(str, sorted(ranks)))})" if ranks else node
