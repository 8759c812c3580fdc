"""Which trackers beside MLflow the environment names: Weights & Biases, Trackio, both or none."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.base.errors import UserError

VARIABLE = "TOMRL_TRACKERS"
TRACKERS = ("wandb", "trackio")


def chosen(environment: Mapping[str, str]) -> list[str]:
    """The trackers that an environment names; others than these are a UserError."""
    names = [name.strip() for name in environment.get(VARIABLE, "").split(",") if name.strip()]
    for name in names:
        if name not in TRACKERS:
            allowed = ", ".join(TRACKERS)
            raise UserError(f"{VARIABLE}: found {name!r}; allowed, with commas between: {allowed}")
    return list(dict.fromkeys(names))


def settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that name trackers, and those by which each knows its address and keys."""
    begin = tuple(f"{name.upper()}_" for name in chosen(environment))
    own = {name: text for name, text in environment.items() if name.startswith(begin)}
    return own | {VARIABLE: environment[VARIABLE]} if begin else {}
