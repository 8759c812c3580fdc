"""A tiny training run, for tests.

``python -m tests.train.tiny WORK ALGORITHM INSTANT...`` runs it in a process of its own, first in
copies of this process that die at these instants, one after the other.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.config.algorithms import Algorithm, AlgorithmName, with_defaults
from pipeline.config.models import TinySize
from pipeline.config.training import Train
from pipeline.model.tiny import make_model, make_tokenizer
from pipeline.model.weights import weights_of
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Grade
from pipeline.train import checkpoint as checkpoints
from pipeline.train.contract import History
from pipeline.train.data import TokenisedRow
from pipeline.train.kept_rollouts import RolloutLog
from pipeline.train.learner import Learner
from pipeline.train.local import LocalTrainer
from pipeline.train.rollout import Rollouts
from pipeline.train.update import Batch, Updater, UpdateStatistics

RECIPE = Train(
    reward="rlvr",
    prompts_per_step=2,
    rollouts=3,
    steps=6,
    learning_rate=1e-3,
    entropy_coefficient=0.01,  # so that something is learned whatever the rewards are
    max_prompt_tokens=64,
    max_new_tokens=5,
    validate_every=2,
    save_every=2,
    allow_no_answers=True,
)


WRONG = Grade(correct=False, strict=False, format_ok=False, extracted=None)
"""The grade of responses whose reward alone counts."""

GIVEN = {"imitated": {"answers": "</think><answer> yes</answer>"}}
"""What supervised training imitates."""


def rows(count: int, task: str = "hi_tom_style_train") -> list[TokenisedRow]:
    """Prompts of a few tokens."""
    return [
        TokenisedRow(
            (5, 6 + i % 9, 7), Example("hi_tom_style", task, f"story {i}", "?", "yes", meta=GIVEN)
        )
        for i in range(count)
    ]


def base() -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A tiny model and its tokenizer."""
    tokenizer = make_tokenizer(["yes or no"], 300)
    return make_model(TinySize(16, 1, 1), tokenizer, context=64, seed=0), tokenizer


def trainer(work: Path, recipe: Train = RECIPE, algorithm: AlgorithmName = "grpo") -> LocalTrainer:
    """A trainer of the tiny model."""
    model, tokenizer = base()
    return LocalTrainer(
        policy=model,
        tokenizer=tokenizer,
        train=rows(7),
        validation=rows(4),
        recipe=recipe,
        algorithm=with_defaults(algorithm),
        seed=3,
        work=work,
    )


def changed(**settings: Any) -> Train:
    """The recipe with other settings."""
    return RECIPE.model_copy(update=settings)


def improve(
    policy: Learner,
    reference: PreTrainedModel,
    critic: Learner | None,
    rollouts: Rollouts,
    recipe: Train,
    algorithm: Algorithm | AlgorithmName,
) -> UpdateStatistics:
    """Update a policy once."""
    chosen = with_defaults(algorithm) if isinstance(algorithm, str) else algorithm
    updater = Updater(recipe, chosen, policy, reference, critic)
    return updater.update(updater.prepare(rollouts))


def digest(run: LocalTrainer) -> str:
    """A digest of the metrics, kept rollouts and weights of a run."""
    found = hashlib.sha256(json.dumps(run.history.rows()).encode())
    found.update(json.dumps(RolloutLog(run.work).rows()).encode())
    for name, tensor in sorted(weights_of(run.policy).items()):
        found.update(name.encode() + tensor.numpy().tobytes())
    return found.hexdigest()


def main(work: Path, algorithm: AlgorithmName, end_at: str = "") -> None:
    """Train, and die at an instant: by an update, a finished step, or a half of a checkpoint."""
    run = trainer(work, algorithm=algorithm)
    write, update, done = checkpoints.write_tensors, Updater.update, [0]  # type: ignore[attr-defined]

    def come_to(instant: str) -> None:
        if instant == end_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def write_in_halves(path: Path, tensors: dict[str, torch.Tensor]) -> None:
        write(path, tensors)
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        come_to(f"half written after {done[0]}")
        path.write_bytes(whole)
        come_to(f"written after {done[0]}")

    def update_and_tell(updater: Updater, batch: Batch) -> UpdateStatistics:
        come_to(f"updating after {done[0]}")
        return update(updater, batch)

    def report(history: History) -> None:
        done[0] = history.last.step
        come_to(f"done {done[0]}")

    checkpoints.write_tensors = write_in_halves  # type: ignore[attr-defined]
    Updater.update = update_and_tell  # type: ignore[method-assign]
    run.report = report
    run.run()
    print(f"digest {digest(run)}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for instant in sys.argv[3:]:  # the same run is killed again and again
        child = os.fork()
        if not child:
            main(Path(sys.argv[1]), sys.argv[2], instant)  # type: ignore[arg-type]
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, f"it never came to {instant}"
    main(Path(sys.argv[1]), sys.argv[2])  # type: ignore[arg-type]
