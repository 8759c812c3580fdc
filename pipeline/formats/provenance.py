"""Versions of the libraries that can move a result, as they stand in each result's records."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

MODEL = ("torch", "transformers", "tokenizers")
"""What decides how a model computes, here."""
GRADING = ("math-verify",)
"""What decides whether an answer is right."""

Libraries = dict[str, str]
"""Version of each library by its distribution's name."""


def installed(*names: str) -> Libraries:
    """The versions of those libraries that are installed here."""
    found = {name: _version(name) for name in names}
    return {name: number for name, number in found.items() if number is not None}


def changed(recorded: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The libraries whose installed version is another than the one recorded.

    Libraries that are not installed here ran elsewhere, and are not compared.
    """
    here = installed(*recorded)
    return {name: (recorded[name], here[name]) for name in here if here[name] != recorded[name]}


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
