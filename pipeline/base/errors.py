"""The errors that reach a person: what is wrong, where, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(Exception):
    """Bad input or a missing prerequisite.

    The message names the file, field or flag, what was found, what is allowed and how to fix it.
    Commands print it as one line or block without a traceback and exit with status 2: to run them
    again without a change cannot help.
    """


class TransientError(UserError):
    """Something failed that nobody needs to fix: a machine, a server, a network.

    Printed like every other error. A stage exits with status 1: to run it again may help.
    """


def first_line(error: BaseException) -> str:
    """The first line of what an error says, or its name; at most 200 characters."""
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A question that names the nearest name, to end a sentence with; nothing if none is near."""
    near = get_close_matches(name, list(names), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
