"""The smoke study of GPU routes, on processors with a tiny model, at night.

It is trained, killed, taken up, merged and judged; the same weights come of it in one go.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml

from pipeline.formats.files import read_json
from tests.conftest import TINY, copy_checkout, edited
from tests.engines.conftest import SETTINGS, Start

pytestmark = [pytest.mark.chain, pytest.mark.nightly]
CELL = "nano-hi"


@pytest.fixture(scope="module")
def trained(start: Start, engine: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    checkout = copy_checkout(tmp_path_factory.mktemp("smoke") / "checkout")
    tiny = yaml.safe_load((TINY / "studies" / "mini.yaml").read_text(encoding="utf-8"))
    nano = tiny["base"]["models"]["nano"]
    nano["warm_start"] |= {"steps": 6, "batch": 8, "stories": 200, "target_accuracy": None}
    with edited(checkout / "studies" / "smoke-gpu.yaml") as study:
        study["base"]["models"] = {"nano": nano}
        study["grid"]["models"] = ["nano"]
        check = study["suite"]["side_checks"]["arithmetic"]
        study["dataset"]["prompt"] = study["evaluate"]["prompt"] = check["prompt"] = "compact"
        study["evaluate"] |= {"engine": "hf", "max_new_tokens": 24}
        check["max_new_tokens"] = 24
        study["acquire"]["hi_tom_style"] |= {"telling": "brief", "small_names": True}
        small = {"prompts_per_step": 4, "rollouts": 4, "max_prompt_tokens": 200}
        study["train"] |= {**small, "max_new_tokens": 24, "precision": "float32"}
        study["train"]["cluster"]["overrides"] = SETTINGS
    run = start(checkout, "scripts/prove_gpu.sh", "route", TOMRL_ENGINE_PYTHON=str(engine))
    assert run.wait() == 0, run.output
    assert "cluster: attempt 1 failed: killed" in run.output
    assert "step 5 merged and kept" in run.output
    return checkout


def test_the_smoke_study_goes_through(trained: Path) -> None:
    assert read_json(trained / "runs" / "smoke-gpu" / CELL / "judge" / "verdicts.json")


def test_completions_of_a_question_have_seeds_of_their_own(trained: Path) -> None:
    kept = pd.read_parquet(trained / "runs" / "smoke-gpu" / CELL / "train" / "rollouts.parquet")
    assert kept.groupby(["step", "id"]).response.nunique().max() > 1


def test_the_same_weights_are_trained_again(trained: Path, start: Start) -> None:
    before = _weights(trained)
    shutil.rmtree(trained / "work")
    again = start(trained, "dvc", "repro", "--force", "--single-item", f"train@{CELL}")
    assert again.wait() == 0, again.output
    assert "step 5 merged and kept" in again.output
    assert _weights(trained) == before


def _weights(checkout: Path) -> str:
    """The digest that DVC has of the trained weights."""
    lock = yaml.safe_load((checkout / "dvc.lock").read_text(encoding="utf-8"))
    outs = {out["path"]: out["md5"] for out in lock["stages"][f"train@{CELL}"]["outs"]}
    return str(outs[f"weights/smoke-gpu/{CELL}"])
