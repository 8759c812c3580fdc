"""The places that worktrees share, where the environment names them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pipeline.ops.mirror.server import URI_VARIABLE

_FOLDERS = ("TOMRL_DATA_MIRROR",)
_DATABASE = "sqlite:///"


def absolute_places(environment: Mapping[str, str], root: Path) -> dict[str, str]:
    """The variables that name places relative to a checkout, made absolute.

    In a worktree the same words would name another place.

    Args:
        environment: Variables by name.
        root: The checkout.
    """
    found = {name: value for name in _FOLDERS if (value := environment.get(name))}
    places = {name: str(root / value) for name, value in found.items()}
    uri = environment.get(URI_VARIABLE, "")
    if uri.startswith(_DATABASE):
        places[URI_VARIABLE] = f"{_DATABASE}{root / uri.removeprefix(_DATABASE)}"
    return places
