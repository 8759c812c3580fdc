"""Which columns of a suite are judged together."""

from __future__ import annotations

from collections.abc import Mapping

_PAIRS = "_pairs"


def judged_together(columns: Mapping[str, str]) -> dict[str, list[str]]:
    """Return, by task, the columns that ask its questions, counterfactual pairs among them.

    Questions on which a rule is right and those on which it is wrong may be columns of their own:
    a verdict needs both.

    Args:
        columns: The task of each column.
    """
    found: dict[str, list[str]] = {}
    for column, task in columns.items():
        found.setdefault(task.removesuffix(_PAIRS), []).append(column)
    return found
