"""Errors for people: what is wrong, where, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(Exception):
    """Bad input or a missing prerequisite.

    The message names the file, field or flag, what was found, what is allowed and how to fix it.
    Commands print it without a traceback and exit with status 2: retrying without a change cannot
    help.
    """


class TransientError(UserError):
    """A failure of a machine, server or network that nobody needs to fix.

    Printed like every other error. A stage exits with status 1: retrying may help.
    """


def first_line(error: BaseException) -> str:
    """The first line of an error's message, or its class; at most 200 characters."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A suffix that suggests the nearest name; empty if none is near."""
    near = get_close_matches(name, list(names), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
