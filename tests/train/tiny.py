"""A tiny training run, for tests; ``python -m tests.train.tiny WORK`` runs it in its own process.

The process says on its output what it is about to do, so that a test can kill it there.
"""

from __future__ import annotations

import copy
import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

import pipeline.tasks  # noqa: F401  (registers the tasks)
from pipeline.config.training import Train
from pipeline.model.tiny import TinySize, make_model, make_tokenizer
from pipeline.model.weights import weights_of
from pipeline.tasks.example import Example
from pipeline.train import checkpoint as checkpoints
from pipeline.train import local
from pipeline.train.data import Row
from pipeline.train.local import LocalTrainer, StepReport

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
)


def rows(count: int, task: str = "hi_tom_style_train") -> list[Row]:
    """Return prompts of a few tokens."""
    return [
        Row((5, 6 + i % 9, 7), Example("hi_tom_style", task, f"story {i}", "?", "yes"))
        for i in range(count)
    ]


def base() -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Return a tiny model and its tokenizer."""
    tokenizer = make_tokenizer(["yes or no"], 300)
    return make_model(TinySize(16, 1, 1), tokenizer, context=64, seed=0), tokenizer


def trainer(work: Path, recipe: Train = RECIPE, algorithm: str = "grpo") -> LocalTrainer:
    """Return a trainer of the tiny model."""
    model, tokenizer = base()
    return LocalTrainer(
        policy=model,
        reference=copy.deepcopy(model).requires_grad_(False),
        tokenizer=tokenizer,
        train=rows(7),
        validation=rows(4),
        recipe=recipe,
        algorithm=algorithm,
        seed=3,
        work=work,
    )


def changed(**settings: Any) -> Train:
    """Return the recipe with other settings."""
    return RECIPE.model_copy(update=settings)


def digest(run: LocalTrainer) -> str:
    """Return a digest of the metrics and weights of a run."""
    found = hashlib.sha256(json.dumps(run.metrics).encode())
    for name, tensor in sorted(weights_of(run.policy).items()):
        found.update(name.encode() + tensor.numpy().tobytes())
    return found.hexdigest()


def _say(text: str) -> None:
    print(text, flush=True)
    time.sleep(0.05)  # whoever kills at this point gets to do so


def main(work: Path, algorithm: str) -> None:
    """Train, announcing every update, every finished step, and the halves of every checkpoint."""
    run = trainer(work, algorithm=algorithm)
    write, update, done = checkpoints.write_tensors, local.update, [0]

    def write_in_halves(path: Path, tensors: dict[str, torch.Tensor]) -> None:
        write(path, tensors)
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        _say(f"half written after {done[0]}")
        path.write_bytes(whole)
        _say(f"written after {done[0]}")

    def update_slowly(*arguments: Any) -> Any:
        _say(f"updating after {done[0]}")
        return update(*arguments)

    def report(step: StepReport) -> None:
        done[0] = step.step
        _say(f"done {step.step}")

    checkpoints.write_tensors = write_in_halves
    local.update = update_slowly
    run.report = report
    run.run()
    print(f"digest {digest(run)}", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    main(Path(sys.argv[1]), sys.argv[2])
