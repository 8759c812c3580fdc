"""Which columns of a suite are judged together."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.config.data import SuiteTask

_PAIRS = "_pairs"


def judged_together(columns: Mapping[str, SuiteTask]) -> dict[str, list[str]]:
    """By task, the columns that ask its questions, counterfactual pairs among them.

    Questions on which a rule is right and those on which it is wrong may be columns of their own:
    a verdict needs both.

    Args:
        columns: The columns of a suite.
    """
    found: dict[str, list[str]] = {}
    for name, column in columns.items():
        found.setdefault(column.task.removesuffix(_PAIRS), []).append(name)
    return found
