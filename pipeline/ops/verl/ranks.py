"""Has each rank of verl import some modules before it loads its model.

verl 0.9.1 imports what a model's ``external_lib`` names where the configuration is read, which of
imitation is no rank; and what ``VERL_USE_EXTERNAL_MODULES`` names, as this module, before most of
itself can be imported.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from verl.single_controller.base.worker import Worker

from pipeline.ops.verl.layout import RANK_MODULES

_begin = Worker.__init__


def begin(worker: Any, *arguments: Any, **options: Any) -> None:
    """verl's ``__init__`` of a rank, and the modules before it."""
    for name in filter(None, os.environ.get(RANK_MODULES, "").split(",")):
        import_module(name)
    _begin(worker, *arguments, **options)


Worker.__init__ = begin
