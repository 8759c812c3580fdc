"""The secrets of a team's servers: made where they are missing, read by their owner alone."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from pipeline.base.errors import UserError

_MAKE: Mapping[str, Callable[[], str]] = {
    "POSTGRES_PASSWORD": lambda: secrets.token_hex(16),
    "MLFLOW_AUTH_ADMIN_PASSWORD": lambda: secrets.token_urlsafe(16),
    "MLFLOW_FLASK_SERVER_SECRET_KEY": lambda: secrets.token_hex(32),
    "PREFECT_SERVER_API_AUTH_STRING": lambda: f"tomrl:{secrets.token_urlsafe(16)}",
    "AWS_ACCESS_KEY_ID": lambda: secrets.token_hex(10),
    "AWS_SECRET_ACCESS_KEY": lambda: secrets.token_hex(20),
}


def read_secrets(path: Path) -> dict[str, str]:
    """Read the secrets of a team's servers; makes those that are missing.

    Raises:
        UserError: If a line is none of ``NAME=VALUE``.
    """
    found = {}
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#"):
            name, sign, value = line.partition("=")
            if not sign:
                raise UserError(
                    f"{path}: line {number} is not NAME=VALUE, as docker/example.env has it"
                )
            found[name.strip()] = value.strip()
    missing = {name: make() for name, make in _MAKE.items() if not found.get(name)}
    if missing:
        found |= missing
        write_private(path, found)
    return found


def write_private(path: Path, values: Mapping[str, str], text: str = "") -> None:
    """Write variables, or a text, into a file that only its owner reads."""
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_text(text or "".join(f"{name}={value}\n" for name, value in values.items()))
