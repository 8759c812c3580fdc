"""The run contract: which step is best, what the files hold, and when the alarm fires."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.model.manifest import ApiManifest, Manifest, StoredModel
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


def test_the_alarm_fires_at_the_first_step_of_a_collapse_only() -> None:
    steps = [
        step(n, length_median=50 if n <= 6 else 5, accuracy=float(n > 6)) for n in range(1, 15)
    ]
    alarms = []
    for end in range(1, len(steps) + 1):
        found = History(steps=tuple(steps[:end]))
        alarms += [found.last.step] if found.alarm else []
    assert alarms == [10]
    collapse = History(steps=tuple(steps)).collapse
    assert collapse is not None and collapse.step == 10


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (
            Manifest(
                model="nano",
                use="best",
                checkpoints={
                    "best": StoredModel(step=2, digest=64 * "a", validation_accuracy=0.5),
                    "last": StoredModel(step=4, digest=64 * "b"),
                },
                skipped_prompts=0,
            ),
            {
                "model": "nano",
                "format": "safetensors",
                "use": "best",
                "checkpoints": {
                    "best": {"step": 2, "digest": 64 * "a", "validation_accuracy": 0.5},
                    "last": {"step": 4, "digest": 64 * "b"},
                },
                "skipped_prompts": 0,
            },
        ),
        (
            ApiManifest(
                model="gpt",
                api="gpt-4o",
                address="https://api.openai.com/v1",
                key="OPENAI_API_KEY",
                prompt_price=None,
                completion_price=None,
            ),
            {
                "model": "gpt",
                "api": "gpt-4o",
                "address": "https://api.openai.com/v1",
                "key": "OPENAI_API_KEY",
                "prompt_price": None,
                "completion_price": None,
            },
        ),
    ],
    ids=["trained", "api"],
)
def test_a_manifest_holds_what_its_kind_of_model_has(
    record: Manifest | ApiManifest, text: dict[str, object], tmp_path: Path
) -> None:
    path = tmp_path / "checkpoints.json"
    record.write(path)
    assert path.read_text() == json.dumps(text, indent=1) + "\n"
    assert type(record).read(path, "train") == record
