"""Environment variables behind errors of libraries."""

from __future__ import annotations

import os
import re
from logging import getLevelNamesMapping

from pipeline.base.errors import UserError


def refused(library: str, prefix: str, said: str) -> UserError | None:
    """An error that names the variables of a library with rejected values, or None.

    They are those whose names the message has, else those whose values it quotes; a path counts for
    its folder. Values are not repeated, as some are secret.
    """
    own = {name: value for name, value in os.environ.items() if name.startswith(prefix) and value}
    names = [name for name in own if re.search(rf"\b{re.escape(name)}\b", said)]
    names = names or [name for name, value in own.items() if _quotes(said, value)]
    if not names:
        return None
    levels = f"; allowed: {', '.join(getLevelNamesMapping())}" if "Unknown level" in said else ""
    return UserError(
        f"{', '.join(names)}: {library} does not take what is set ({said}{levels}); fix or unset it"
    )


def _quotes(said: str, value: str) -> bool:
    return re.search(rf"""(['"]){re.escape(value)}(/[^'"]*)?\1""", said, re.IGNORECASE) is not None
