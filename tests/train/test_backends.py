"""verl's backend loads its own code alone; of the local one `tests/test_graph.py` asks it."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOCAL_LOOP = ("local", "update", "rollout", "scoring", "algorithms", "memory", "state")


def loaded(module: str) -> set[str]:
    """The modules of this package that come with a module."""
    code = f"import {module}, sys; print(*(m for m in sys.modules if m.startswith('pipeline.')))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(shown.stdout.split())


def test_verls_backend_loads_nothing_of_the_local_loop() -> None:
    found = loaded("pipeline.ops.verl.training")
    assert "pipeline.ops.verl.overrides" in found
    assert not found & {f"pipeline.train.{name}" for name in LOCAL_LOOP}


@pytest.mark.parametrize("module", ["train", "training"])
def test_the_stage_loads_neither_before_it_knows_the_cell(module: str) -> None:
    found = loaded(f"pipeline.stages.{module}")
    assert not found & {"pipeline.stages.train_local", "pipeline.ops.verl.training"}
