"""What the benchmark of the GPU makes up: models of random weights, and what they learn from."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

RECIPE: dict[str, Any] = {
    "reward": "tom-rl-strict",
    "prompts_per_step": 8,
    "rollouts": 16,
    "steps": 1,
    "learning_rate": 5e-7,
    "kl_coefficient": 0.001,
    "entropy_coefficient": 0.001,
    "max_prompt_tokens": 1024,
    "max_new_tokens": 512,
    "validate_every": 1,
    "save_every": 1,
    "groups_per_micro_batch": 16,
    "precision": "bfloat16",
}
TINY = {"prompts_per_step": 2, "rollouts": 4, "max_prompt_tokens": 24, "max_new_tokens": 12}


def stand_in_for_absent_libraries() -> None:
    """Let the trainer's modules be imported where only torch, transformers and pydantic are.

    What they take from these libraries at import time is not used by a training step.
    """

    def stand_in(attribute: str) -> type:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return type(attribute, (), {})

    for name in ("pandas", "psutil"):
        if importlib.util.find_spec(name) is None:
            module: Any = ModuleType(name)
            module.__getattr__ = stand_in
            module.__spec__ = ModuleSpec(name, None)
            sys.modules[name] = module


def make_model(shape: Any, context: int, device: Any) -> Any:
    """A Qwen2 model of a shape with random weights."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        **asdict(shape), max_position_embeddings=context, attn_implementation="sdpa", pad_token_id=0
    )
    torch.manual_seed(0)
    with torch.device(device):
        return Qwen2ForCausalLM(config)


def as_batch(prompts: Sequence[tuple[int, ...]], completions: Sequence[Any]) -> Any:
    """Sampled completions as a batch to learn from, with rewards that differ."""
    from pipeline.reward.reward import Earned, Reward
    from pipeline.tasks.example import Example
    from pipeline.tasks.grading import Grade
    from pipeline.train.data import TokenisedRow
    from pipeline.train.rollout import Rollouts

    example = Example("benchmark", "gpu", "", "?", "yes")
    grade = Grade(correct=False, strict=False, format_ok=False, extracted=None)
    rewards = [Reward(Earned(0.0, float(index % 2)), grade) for index in range(len(completions))]
    texts = ("",) * len(completions)
    rows = tuple(TokenisedRow(prompt, example) for prompt in prompts)
    return Rollouts(rows, tuple(completions), texts, tuple(rewards))
