"""What the trainer refuses: inputs that do not fit together, and numbers that are none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.config.training import Train
from pipeline.errors import UserError
from pipeline.files import write_json
from pipeline.reward.fidelity import is_readable
from pipeline.reward.presets import FIDELITY
from pipeline.train.data import Row
from pipeline.train.rollout import Rollouts


def check_fit(
    policy: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    train: Sequence[Row],
    validation: Sequence[Row],
    recipe: Train,
) -> None:
    """Check that there is data, and that it, the tokenizer, the model and the recipe fit together.

    Raises:
        UserError: If they do not.
    """
    for name, rows in (("training", train), ("validation", validation)):
        if not rows:
            raise UserError(f"there are no {name} prompts; look at the limits of the combination")
    prompts = [row.prompt for row in (*train, *validation)]
    vocabulary = policy.config.vocab_size
    if len(tokenizer) > vocabulary or max(map(max, prompts)) >= vocabulary:
        raise UserError(
            f"the tokenizer has {len(tokenizer)} tokens and the prompts reach token "
            f"{max(map(max, prompts))}, but the model knows only {vocabulary}; they do not belong "
            "together"
        )
    if recipe.reward == FIDELITY and not any(is_readable(row.example) for row in train):
        raise UserError(
            f"train.reward is {FIDELITY!r}, which checks the reasoning against the story, but the "
            f"belief engine can read none of the {len(train)} training stories; choose another "
            "reward, or a combination of Hi-ToM, ToMi or ExploreToM in their own words"
        )
    longest, context = max(map(len, prompts)), policy.config.max_position_embeddings
    if longest + recipe.max_new_tokens > context:
        raise UserError(
            f"the longest prompt has {longest} tokens and max_new_tokens is "
            f"{recipe.max_new_tokens}, but the model reads only {context}; lower "
            "train.max_prompt_tokens or train.max_new_tokens"
        )


def refuse_batch(work: Path, step: int, why: str, rollouts: Rollouts) -> UserError:
    """Write a batch that cannot be learned from, and return the error that names it."""
    path = work / f"refused-step-{step:06d}.json"
    group = rollouts.group
    rows = []
    for index, row in enumerate(rollouts.rows):
        span = range(index * group, (index + 1) * group)
        completions = [
            {
                "tokens": rollouts.completions[i].tokens,
                "text": rollouts.texts[i],
                "reward": _number(rollouts.rewards[i].score),
            }
            for i in span
        ]
        rows.append({"id": row.example.id, "prompt": row.prompt, "completions": completions})
    write_json(path, {"step": step, "why": why, "rows": rows})
    ids = ", ".join(row.example.id for row in rollouts.rows)
    return UserError(
        f"step {step}: {why}, on the prompts {ids}; the batch is in {path}. Lower "
        "train.learning_rate, or look at the reward of the responses there"
    )


def _number(value: float) -> float | str:
    """Return a number that JSON can hold, or its name."""
    return value if math.isfinite(value) else str(value)
