"""Shared places named by the environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pipeline.ops.mirror.server import URI_VARIABLE

_FOLDERS = ("TOMRL_DATA_MIRROR",)
_DATABASE = "sqlite:///"


def absolute_places(environment: Mapping[str, str], root: Path) -> dict[str, str]:
    """The variables with paths relative to a checkout, made absolute, as a worktree would resolve
    them elsewhere.
    """
    found = {name: value for name in _FOLDERS if (value := environment.get(name))}
    places = {name: str(root / value) for name, value in found.items()}
    uri = environment.get(URI_VARIABLE, "")
    if uri.startswith(_DATABASE):
        places[URI_VARIABLE] = f"{_DATABASE}{root / uri.removeprefix(_DATABASE)}"
    return places
