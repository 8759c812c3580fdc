"""Grouping of a suite's columns for judgement."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.config.data import SuiteTask

_PAIRS = "_pairs"


def judged_together(columns: Mapping[str, SuiteTask]) -> dict[str, list[str]]:
    """By task, the columns with its questions, counterfactual pairs included.

    Columns may select questions on which a rule is right or wrong: a verdict needs both.
    """
    found: dict[str, list[str]] = {}
    for name, column in columns.items():
        found.setdefault(column.task.removesuffix(_PAIRS), []).append(name)
    return found
