"""Versions of the libraries that can affect a result, as recorded with it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

MODEL = ("torch", "transformers", "tokenizers")
"""Libraries behind a model's computation here."""
GRADING = ("math-verify",)
"""Libraries behind grading."""

Libraries = dict[str, str]
"""Version by distribution."""


def installed(*names: str) -> Libraries:
    found = {name: _version(name) for name in names}
    return {name: number for name, number in found.items() if number is not None}


def changed(recorded: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """(recorded, installed) versions of libraries that differ.

    Libraries that are not installed here ran elsewhere, and are not compared.
    """
    here = installed(*recorded)
    return {name: (recorded[name], here[name]) for name in here if here[name] != recorded[name]}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
