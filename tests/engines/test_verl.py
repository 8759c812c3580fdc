"""What asks verl: the tests that import it, in its environment, and the plan of a cell in ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.base.errors import UserError
from pipeline.ops.verl.compose import ask
from tests.conftest import PROJECT
from tests.engines.conftest import ON_CPU
from tests.train.verl.test_verl_show import shown


def test_all_tests_that_import_verl_pass_in_its_environment(engine: Path) -> None:
    """They compose for accelerators, so verl is not told that it has none."""
    kept = {name: text for name, text in os.environ.items() if name not in {"PYTHONPATH", *ON_CPU}}
    done = subprocess.run(
        [
            engine,
            "-m",
            "pytest",
            "-m",
            "verl and not nightly",
            "-p",
            "no:cacheprovider",
            "tests/train",
        ],
        cwd=PROJECT,
        env=kept | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout)
    figures = done.stdout.splitlines()[-1]
    assert done.returncode == 0 and "passed" in figures and "skipped" not in figures, done.stderr


def test_the_plan_of_a_cell_says_what_verl_makes_of_it() -> None:
    text = shown(PROJECT)
    assert "settings that differ from verl's defaults (in brackets):" in text
    assert "  actor_rollout_ref.actor.optim.lr = 5e-07  (1e-06)" in text


def test_what_verl_refuses_is_said(engine: Path) -> None:
    refused = {"actor_rollout_ref.actor.clip_ration": 0.1}
    with pytest.raises(UserError, match=r"it has actor_rollout_ref\.actor\.clip_ratio"):
        ask(refused, "ppo_trainer", engine)
    with pytest.raises(UserError, match=r"python: .*no module named|No module named"):
        ask({}, "ppo_trainer", Path(sys.executable))
