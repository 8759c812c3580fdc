"""The pipeline: data, rewards, training, evaluation, analysis; orchestrated by DVC stages.

``from pipeline import load`` gives the results of a study as data frames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.analysis.frames import load as load


def __getattr__(name: str) -> Any:
    """What is loaded when it is first asked for, so that to import the package takes no time."""
    if name != "load":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # by name: no result can come from it

    return import_module("pipeline.analysis.frames").load
