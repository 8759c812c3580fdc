"""Rollouts: sampling completions for a batch of prompts and rewarding them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.config.training import Train
from pipeline.model.decode import Completion, Sampling, generate
from pipeline.reward.presets import Reward, safe_reward
from pipeline.train.data import Row
from pipeline.train.device import autocast


@dataclass(frozen=True)
class Rollouts:
    """P prompts with G completions each; those of prompt p are at p * G ... p * G + G - 1."""

    rows: tuple[Row, ...]
    completions: tuple[Completion, ...]
    texts: tuple[str, ...]
    rewards: tuple[Reward, ...]
    reward_seconds: float = field(default=0.0, compare=False)

    @property
    def group(self) -> int:
        """Return the number of completions per prompt."""
        return len(self.completions) // len(self.rows)

    @property
    def prompts(self) -> list[tuple[int, ...]]:
        """Return the prompt tokens of each row."""
        return [row.prompt for row in self.rows]


def roll_out(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[Row],
    sampling: Sampling,
    recipe: Train,
    *,
    group: int,
    stream: tuple[int, ...],
) -> Rollouts:
    """Sample ``group`` completions for each row and reward them.

    Args:
        model: The policy.
        tokenizer: Its tokenizer.
        rows: Prompts.
        sampling: How tokens are chosen.
        recipe: Gives the reward and the precision.
        group: Completions per prompt.
        stream: Prefix of every random key, such as (seed, step); a completion's random numbers
            depend on it, the prompt's id and the sample's index only.
    """
    keys = [
        (*stream, int(row.example.id[:12], 16), sample) for row in rows for sample in range(group)
    ]
    with autocast(model.device, recipe.precision):
        completions = generate(model, [row.prompt for row in rows], keys, sampling, _end(tokenizer))
    return _rewarded(tokenizer, rows, completions, recipe)


def imitate(tokenizer: PreTrainedTokenizerBase, rows: Sequence[Row], recipe: Train) -> Rollouts:
    """Return one completion per row that answers with the gold answer and does not reason.

    The dataset holds no reasoning to imitate, so ``</think><answer> gold</answer>`` is all that
    supervised training can be shown.
    """
    end = _end(tokenizer)
    completions = []
    for row in rows:
        text = f"</think><answer> {row.example.answer}</answer>"
        tokens = tokenizer.encode(text, add_special_tokens=False)
        completions.append(Completion((*tokens, end), finished=True))
    return _rewarded(tokenizer, rows, completions, recipe)


def _rewarded(
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[Row],
    completions: Sequence[Completion],
    recipe: Train,
) -> Rollouts:
    started = time.perf_counter()
    texts = decode_texts(tokenizer, completions)
    group = len(completions) // len(rows)
    rewards = tuple(
        safe_reward(
            recipe.reward,
            text,
            rows[index // group].example,
            fidelity_weight=recipe.fidelity_weight,
        )
        for index, text in enumerate(texts)
    )
    seconds = time.perf_counter() - started
    return Rollouts(tuple(rows), tuple(completions), texts, rewards, seconds)


def decode_texts(
    tokenizer: PreTrainedTokenizerBase, completions: Sequence[Completion]
) -> tuple[str, ...]:
    """Return the texts of completions without their end-of-sequence tokens."""
    tokens = [list(c.tokens[:-1] if c.finished else c.tokens) for c in completions]
    return tuple(tokenizer.batch_decode(tokens, skip_special_tokens=False))


def _end(tokenizer: PreTrainedTokenizerBase) -> int:
    return int(tokenizer.eos_token_id)  # type: ignore[arg-type]
