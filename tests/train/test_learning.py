"""Learning, not just running: the true reward improves a tiny policy, a reward of noise does not.

The toy task: of 32 tokens, say the one that the prompt shows. A policy that knows nothing is right
once in a while; seeds are fixed, so the outcome is too.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from statistics import mean

import pytest
import torch

from pipeline.config.algorithms import AlgorithmName, with_defaults
from pipeline.config.models import TinySize
from pipeline.model.tiny import make_model, make_tokenizer
from pipeline.reward.reward import Earned, Reward
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade
from pipeline.train import rollout
from pipeline.train.data import TokenisedRow
from pipeline.train.local import LocalTrainer
from tests.train import tiny

WORDS = ("yes", "no")


def graded(right: bool, score: float) -> Reward:
    return Reward(Earned(0.0, score), Grade(right, right, True, None), right)


def accuracy_after(
    work: Path, algorithm: AlgorithmName, noise: bool, monkeypatch: pytest.MonkeyPatch
) -> tuple[float, float]:
    """Train on the toy task; return the mean accuracy of the first and of the last ten steps."""
    random = Random(0)

    def score(_: object, text: str, example: Example, **__: object) -> Reward:
        right = example.answer in text and not any(
            word in text for word in WORDS if word != example.answer
        )
        return graded(right, random.random() if noise else float(right))

    monkeypatch.setattr(rollout, "safe_reward", score)
    tokenizer = make_tokenizer([" ".join(WORDS)] * 9, 300)
    model = make_model(TinySize(32, 1, 2), tokenizer, context=32, seed=0)
    rows = []
    for index, word in enumerate(WORDS * 8):
        prompt = tuple(tokenizer.encode(f"{word} {word}"))
        rows.append(TokenisedRow(prompt, Example("toy", "toy", f"{index}", "?", word)))
    recipe = tiny.changed(
        prompts_per_step=8,
        rollouts=16,
        steps=60,
        learning_rate=3e-3,
        kl_coefficient=0.0,
        entropy_coefficient=0.0,
        max_new_tokens=3,
        validate_every=60,
        save_every=60,
    )
    run = LocalTrainer(
        policy=model,
        tokenizer=tokenizer,
        train=rows,
        validation=rows,
        recipe=recipe,
        algorithm=with_defaults(algorithm),
        seed=0,
        work=work,
    )
    steps = [step.metrics["accuracy"] for step in run.run().steps[1:]]
    return mean(steps[:10]), mean(steps[-10:])


@pytest.mark.parametrize(
    "algorithm",
    [
        "grpo",
        pytest.param("reinforce_plus_plus", marks=pytest.mark.nightly),
        pytest.param("ppo", marks=pytest.mark.nightly),
    ],
)
def test_the_true_reward_teaches_and_noise_does_not(
    algorithm: AlgorithmName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        before, after = accuracy_after(tmp_path / "true", algorithm, False, monkeypatch)
        _, aimless = accuracy_after(tmp_path / "noise", algorithm, True, monkeypatch)
    finally:
        torch.set_num_threads(threads)
    assert before < 0.3 and after > before + 0.5
    assert aimless < before + 0.1
