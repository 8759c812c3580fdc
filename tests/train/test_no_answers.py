"""A model that answers nothing is not trained by reward, unless that is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.base.errors import UserError
from pipeline.config.algorithms import AlgorithmName
from pipeline.engine.decode import Completion
from pipeline.train import rollout
from tests.train import tiny

NEVER = tiny.changed(allow_no_answers=False, steps=1)


@pytest.mark.parametrize("algorithm", ["grpo", "rft"])
def test_training_is_refused_and_the_repair_named(tmp_path: Path, algorithm: AlgorithmName) -> None:
    with pytest.raises(UserError) as refused:
        tiny.trainer(tmp_path, NEVER, algorithm).run()
    said = str(refused.value)
    assert "gives no answer to any of the 4 validation prompts" in said
    assert "starts_from: warm" in said and "train.allow_no_answers: true" in said
    assert not list(tmp_path.glob("state/*"))


def test_imitation_needs_no_answers_before_it(tmp_path: Path) -> None:
    assert tiny.trainer(tmp_path, NEVER, "sft").run().last.step == 1


def test_a_wrong_answer_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def texts(_: object, completions: list[Completion]) -> tuple[str, ...]:
        return ("</think><answer> no</answer>", *("" for _ in completions[1:]))

    monkeypatch.setattr(rollout, "decode_texts", texts)
    history = tiny.trainer(tmp_path, NEVER).run()
    assert history.last.step == 1 and history.steps[0].accuracy == 0
