"""The one error type that reaches a person: what is wrong, where, and how to mend it."""

from __future__ import annotations


class UserError(Exception):
    """Bad input or a missing prerequisite.

    The message names the file, field or flag, what was found, what is allowed and how to fix it.
    Commands print it as one line or block without a traceback and exit with status 2.
    """
