"""verl logs to the trackers that the study's tracking names, as verl itself reads the settings."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.base.trackers import VARIABLE
from pipeline.model.weights import save_model
from pipeline.ops.verl.compose import compose_here
from pipeline.ops.verl.job import VerlAttempt
from pipeline.ops.verl.layout import State
from pipeline.ops.verl.training import VerlTraining
from tests.train import tiny
from tests.train.verl.verl_cells import cell, job_spec


def test_verl_logs_where_the_mirror_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb")
    wandb.teardown()  # what it has read of an earlier test's environment
    tracking = pytest.importorskip("verl.utils.tracking")
    save_model(tmp_path / "base", *tiny.base())
    spec = job_spec(cell("grpo"), tmp_path)
    job = VerlAttempt(spec, tmp_path, State(tmp_path / "state", "1-a"))
    assert job._overrides(tmp_path / "base", 0)["trainer.logger"] == ["console", "file"]
    own = SimpleNamespace(stage=SimpleNamespace(study="mini"), key="nano")
    run: Any = SimpleNamespace(_spec=spec, _cell=spec.cell, _own=own)
    assert not {"WANDB_MODE", VARIABLE} & VerlTraining._environment(run).keys()
    monkeypatch.setenv(VARIABLE, "wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("TRACKIO_DIR", "elsewhere")
    passed = VerlTraining._environment(run)
    assert (passed["WANDB_MODE"], passed[VARIABLE]) == ("offline", "wandb")
    assert "TRACKIO_DIR" not in passed
    monkeypatch.setenv("VERL_FILE_LOGGER_ROOT", str(tmp_path))
    found = compose_here(job._overrides(tmp_path / "base", 0), job.trainer.config)
    names = [found.value(f"trainer.{name}") for name in ("project_name", "experiment_name")]
    logger = tracking.Tracking(*names, found.value("trainer.logger"))
    logger.log({"reward": 0.5}, step=1)
    logger.finish()
    wandb.teardown()
    assert list(tmp_path.glob("wandb/offline-run-*/*.wandb"))
    assert '"reward":0.5' in (tmp_path / "1-a" / "verl.jsonl").read_text()
