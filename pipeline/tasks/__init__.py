"""One file per benchmark: where its rows come from, what they mean, how answers are graded.

Importing the package registers every task.
"""

from pipeline.tasks import (
    explore_tom,
    fantom,
    fantom_archive,
    generated,
    gsm8k,
    hi_tom,
    opentom,
    tom_rl,
    tomi,
)
from pipeline.tasks.registry import Task, all_tasks, get

__all__ = [
    "Task",
    "all_tasks",
    "explore_tom",
    "fantom",
    "fantom_archive",
    "generated",
    "get",
    "gsm8k",
    "hi_tom",
    "opentom",
    "tom_rl",
    "tomi",
]
