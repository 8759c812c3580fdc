"""The run contract: which step is best, and what the files hold."""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.model.manifest import Manifest, StoredModel
from pipeline.train.contract import History, Outcome, Step


def step(number: int, validated: float | None = None, **metrics: float) -> Step:
    found = metrics if validated is None else {**metrics, "validation_accuracy": validated}
    return Step(step=number, metrics=found, timing={"seconds": 1.5}, at=2.0)


def history(*accuracies: float | None) -> History:
    return History(steps=tuple(step(n, accuracy) for n, accuracy in enumerate(accuracies)))


def test_the_earliest_best_step_wins_and_the_base_model_is_no_candidate() -> None:
    found = history(0.9, 0.2, None, 0.7, 0.7, None)
    assert found.best is not None and (found.best.step, found.last.step) == (3, 5)
    assert [each.step for each in found.validated] == [1, 3, 4]
    assert history(0.9, None).best is None


def test_a_step_takes_the_place_of_its_number_and_all_later() -> None:
    found = history(0.1, 0.2, 0.3, 0.4).adding(step(2, 0.9))
    assert [each.accuracy for each in found.steps] == [0.1, 0.2, 0.9]


def test_counts_stay_integers_in_every_file(tmp_path: Path) -> None:
    one = step(1, 0.5, reward_errors=2, loss=1.0)
    assert json.dumps(History(steps=(one,)).rows()) == (
        '[{"step": 1, "reward_errors": 2, "loss": 1.0, "validation_accuracy": 0.5}]'
    )
    assert Step.from_line(one.line) == one and '"reward_errors": 2,' in one.line
    outcome = Outcome(history=History(steps=(one,)), checkpoints={}, libraries={})
    outcome.write(tmp_path / "outcome.json")
    again = Outcome.read(tmp_path / "outcome.json", "train")
    assert again == outcome and type(again.history.last.metrics["reward_errors"]) is int


def test_a_manifest_leaves_out_what_does_not_apply(tmp_path: Path) -> None:
    last = StoredModel(step=4, digest=64 * "b")
    best = StoredModel(step=2, digest=64 * "a", validation_accuracy=0.5)
    record = Manifest(model="nano", use="best", checkpoints={"best": best, "last": last})
    record.write(tmp_path / "checkpoints.json")
    assert json.loads((tmp_path / "checkpoints.json").read_text()) == {
        **{"model": "nano", "format": "safetensors", "use": "best"},
        "checkpoints": {
            "best": {"step": 2, "digest": 64 * "a", "validation_accuracy": 0.5},
            "last": {"step": 4, "digest": 64 * "b"},
        },
    }
    assert Manifest.read(tmp_path / "checkpoints.json", "train") == record
