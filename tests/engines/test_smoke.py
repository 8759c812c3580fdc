"""The smoke study of GPU routes, on processors with a tiny model: killed, resumed, judged."""

from __future__ import annotations

from pathlib import Path

from pipeline.formats.files import read_json
from tests.conftest import copy_checkout, edited
from tests.engines.conftest import Start, kill, saved_steps

CELL = "nano-hi"


def test_the_smoke_study_goes_through(start: Start, tmp_path: Path) -> None:
    checkout = copy_checkout(tmp_path / "checkout")
    with edited(checkout / "studies" / "mini.yaml") as mini:
        nano = mini["base"]["models"]["nano"]
    with edited(checkout / "studies" / "smoke-gpu.yaml") as study:
        study["base"]["models"] = {"nano": nano}
        study["grid"]["models"] = ["nano"]
        study["dataset"]["prompt"] = study["evaluate"]["prompt"] = study["gsm8k"]["prompt"] = (
            "compact"
        )
        study["evaluate"] |= {"engine": "hf", "max_new_tokens": 24}
        study["gsm8k"]["max_new_tokens"] = 24
        study["acquire"]["hi_tom_style"] |= {"telling": "brief", "small_names": True}
        small = {"prompts_per_step": 4, "rollouts": 4, "max_prompt_tokens": 200}
        study["train"] |= {**small, "max_new_tokens": 24, "precision": "float32"}
    repro = ("tomrl", "repro", "smoke-gpu")
    first = start(checkout, *repro)
    first.wait_until(lambda: 2 in saved_steps(checkout))
    kill(first.processes())
    again = start(checkout, *repro)
    assert again.wait() == 0, again.output
    (state,) = (checkout / "work").glob("*/job.log")
    assert "goes on after step 2 of 5" in state.read_text()
    (cell,) = (checkout / "runs" / "smoke-gpu").glob(f"{CELL}*grpo*")
    assert read_json(cell / "judge" / "verdicts.json")
