"""Refusal of batches that are not finite, which are recorded, or too large."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.base.errors import TransientError, UserError
from pipeline.formats.files import write_json
from pipeline.train.learner import NotFinite
from pipeline.train.rollout import Rollouts

_MEMORY = re.compile(r"out of memory|can't allocate memory")  # of CUDA, of torch on CPUs


@contextmanager
def refusing(work: Path, step: int, rollouts: Rollouts) -> Iterator[None]:
    """Refuse a batch whose rewards, losses or gradients are not finite.

    Raises:
        UserError: If they are not; names the prompts and the file with the batch. Also if memory
            does not suffice for the first step.
        TransientError: If memory does not suffice for a later one.
    """
    try:
        if not all(math.isfinite(reward.score) for reward in rollouts.rewards):
            raise NotFinite("a reward is not a finite number")
        yield
    except NotFinite as error:
        path = work / f"refused-step-{step:06d}.json"
        write_json(path, {"step": step, "why": str(error), "rows": _rows(rollouts)})
        ids = ", ".join(row.example.id for row in rollouts.rows)
        raise UserError(
            f"step {step}: {error}, on the prompts {ids}; the batch is in {path}. Lower "
            "train.learning_rate, or look at the reward of the responses there"
        ) from error
    except (MemoryError, RuntimeError) as error:  # torch.OutOfMemoryError is a RuntimeError
        if not _is_memory(error):
            raise
        kind = TransientError if step > 1 else UserError
        said = " ".join(str(error).split())[:200] or "no more to be had"
        raise kind(
            f"step {step}: out of memory ({said}). Lower "
            "train.groups_per_micro_batch or train.max_new_tokens; running it again goes on from "
            "the last checkpoint"
        ) from error


def _is_memory(error: Exception) -> bool:
    return not isinstance(error, RuntimeError) or bool(_MEMORY.search(str(error)))


def _rows(rollouts: Rollouts) -> list[dict[str, object]]:
    group = rollouts.group
    completions = [
        {"tokens": completion.tokens, "text": text, "reward": _number(reward.score)}
        for completion, text, reward in zip(
            rollouts.completions, rollouts.texts, rollouts.rewards, strict=True
        )
    ]
    return [
        {
            "id": row.example.id,
            "prompt": row.prompt,
            "completions": completions[index * group : (index + 1) * group],
        }
        for index, row in enumerate(rollouts.rows)
    ]


def _number(value: float) -> float | str:
    """A number that JSON can hold, or its name."""
    return value if math.isfinite(value) else str(value)
