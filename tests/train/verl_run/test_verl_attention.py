"""The attention that the job chooses where it runs, and that critics are loaded with."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
import torch
from transformers import AutoConfig

from pipeline.base.errors import UserError
from pipeline.model.weights import save_model
from pipeline.ops.cluster.job import NOTE
from pipeline.ops.verl.attention import described, flash_of_jobs
from pipeline.ops.verl.job import VerlAttempt
from pipeline.ops.verl.layout import State
from tests.train import tiny
from tests.train.verl.verl_cells import cell, job_spec


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny base model's folder."""
    folder = tmp_path_factory.mktemp("model") / "base"
    save_model(folder, *tiny.base())
    return folder


@pytest.mark.parametrize("flash", [True, False])
def test_the_job_looks_for_flash_attention(
    base: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    flash: bool,
) -> None:
    if flash:
        (tmp_path / "flash_attn.py").touch()
        monkeypatch.syspath_prepend(str(tmp_path))
    chosen = cell(precision="bfloat16")
    spec = job_spec(chosen, tmp_path)
    job = VerlAttempt(spec, tmp_path, State(tmp_path / "state", "1-a"))
    found = job._overrides(base, 0)
    with pytest.raises(UserError):  # there is no base model
        job.run()
    model, said = "actor_rollout_ref.model", capsys.readouterr().out
    attention = found[f"+{model}.override_config.attn_implementation"]
    assert (attention, found[f"{model}.use_remove_padding"]) == (
        ("flash_attention_2", True) if flash else ("sdpa", False)
    )
    first = said.strip().splitlines()[0]
    assert first.startswith(f"{NOTE}attention: {attention}, sequences p")
    assert ("flash_attn is not installed" in first) == (not flash)
    assert first.removeprefix(NOTE) == described(chosen.train, flash=flash)


@pytest.mark.parametrize("flash", [True, False])
def test_what_is_shown_is_what_the_engine_environment_has(flash: bool, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nexit {int(not flash)}\n")
    python.chmod(0o755)
    engine = {"TOMRL_ENGINE_PYTHON": str(python)}
    assert flash_of_jobs(engine) is flash
    assert not flash_of_jobs({**engine, "RAY_ADDRESS": "http://head:8265"})


@pytest.mark.verl
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_verl_loads_a_critic_with_the_attention_that_it_was_told(
    base: Path, attention: str
) -> None:
    models = importlib.import_module("verl.utils.model")
    critics = importlib.import_module("pipeline.ops.verl.critics")
    assert models.load_valuehead_model is critics.load_valuehead_model
    config = AutoConfig.from_pretrained(base, attn_implementation=attention)
    config.num_labels = 1  # as verl sets it
    critic = models.load_valuehead_model(str(base), torch.float32, config, False)
    assert critic.config._attn_implementation == attention
    assert critic.score.out_features == 1
