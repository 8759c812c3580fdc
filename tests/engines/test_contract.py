"""verl's own functions and the local trainer give the same numbers, in the engine environment."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pipeline.base.plugins import REWARDS
from tests.conftest import PROJECT

TOLERANCE = 1e-5


def ask(engine: Path, *arguments: str) -> Any:
    shown = subprocess.run(
        [str(engine), "-m", "tests.engines.contract", *arguments],
        cwd=PROJECT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def losses(engine: Path) -> Any:
    return ask(engine, "losses")


@pytest.mark.parametrize("algorithm", ["grpo", "reinforce_plus_plus"])
def test_loss_kl_and_gradient_agree(losses: Any, algorithm: str) -> None:
    found = losses[algorithm]
    assert found["ours"] == pytest.approx(found["verl"], abs=TOLERANCE, rel=TOLERANCE)
    assert abs(found["ours"]["loss"]) > 100 * TOLERANCE
    assert found["ours"]["kl"] > 100 * TOLERANCE


def test_loss_and_gradient_of_imitation_agree(losses: Any) -> None:
    found = losses["sft"]
    assert found["ours"] == pytest.approx(found["verl"], abs=TOLERANCE, rel=TOLERANCE)
    assert min(found["ours"].values()) > 100 * TOLERANCE


def test_the_gradient_of_rejection_sampling_agrees(losses: Any) -> None:
    found = losses["rft"]
    assert found["ours"] == pytest.approx(found["verl"], rel=TOLERANCE)
    assert found["ours"]["gradient_norm"] > 1


def test_logits_in_chunks_say_what_all_of_them_say(losses: Any) -> None:
    found = losses["chunks"]
    assert found["chunks"] == pytest.approx(found["whole"], rel=TOLERANCE)
    assert found["whole"]["gradient_norm"] > 1


def test_500_responses_earn_the_same_through_verl(engine: Path, study: Path) -> None:
    found = ask(engine, "rewards", str(study / "data/mini/combos/hi"))
    assert set(found) == set(REWARDS)
    for rewards in found.values():
        assert len(rewards["verl"]) == 500
        assert rewards["verl"] == rewards["direct"]
        assert len(set(rewards["direct"])) > 1
