"""The collapse alarm reaches the log, the tracker and the report, once each."""

from __future__ import annotations

import logging
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.ops.mirror.send import complete
from pipeline.train import local
from pipeline.train.collapse import find_collapse
from pipeline.train.drift import DIFFERENCE, find_drift
from tests.analysis.made import signed
from tests.analysis.test_seeds import seeded
from tests.stages.small import small_study, trained


def test_a_collapse_is_said_once_in_log_tracker_and_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real, steps = local.step_metrics, [0]

    def collapsing(*arguments: object) -> dict[str, object]:
        steps[0] += 1
        short = steps[0] > 6
        drifting = {"rollout_probs_diff_mean": 0.02}  # as verl's sampler and trainer may
        lengths = {"length_median": 5 if short else 50, "accuracy": float(short)}
        return real(*arguments) | lengths | drifting  # type: ignore[arg-type]

    monkeypatch.setattr(local, "step_metrics", collapsing)
    study = small_study(tmp_path / "study")
    study["train"] |= {"steps": 14, "prompts_per_step": 2}
    with caplog.at_level(logging.WARNING):
        stage, rows = trained(tmp_path / "root", study)
    said = [record for record in caplog.records if "reasoning collapse" in record.getMessage()]
    assert len(said) == 1 and "at step 10" in said[0].getMessage()
    assert complete(stage.params, stage.root) == ["nano-hi"]
    with sqlite3.connect(tmp_path / "root" / "mlflow.db") as database:
        tags = database.execute("select value from tags where key = 'collapse_step'").fetchall()
        drift_tags = database.execute("select value from tags where key = 'drift_step'").fetchall()
    assert (tags, drift_tags) == ([("10",)], [("5",)])
    (alarm,) = [r.getMessage() for r in caplog.records if "drift at step" in r.getMessage()]
    drift = find_drift(rows)
    assert drift is not None and drift.describe() == alarm
    found = find_collapse(rows)
    assert found is not None and found.describe() == said[0].getMessage()


def test_the_report_says_what_the_alarm_said() -> None:
    from pipeline.analysis.findings import findings

    results = seeded([0.6])
    result = results.trained()[0]
    key = result.key
    lengths = [20.0] * 6 + [5.0] * 8
    curve = [{"step": 0, "validation_accuracy": 0.5}]
    curve += [
        {"step": step, "length_median": length, "accuracy": step / 20, "validation_accuracy": 0.6}
        | {DIFFERENCE: 0.02}
        for step, length in enumerate(lengths, 1)
    ]
    results.cells[key] = replace(result, curve=curve)
    found = find_collapse(curve)
    assert found is not None
    sentences = [sentence for sentence in findings(*signed(results)) if "collapse" in sentence]
    assert sentences == [f"{key}: {found.describe()}."]
    drift = find_drift(curve)
    assert drift is not None and f"{key}: {drift.describe()}." in findings(*signed(results))
