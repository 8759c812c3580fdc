"""What verl's trainer for imitation reads: the dataset parquet as sequences with loss masks.

Prompt, response and end are those of the local trainer, token for token.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Protocol

import torch
from torch import Tensor
from torch.utils.data import Dataset
from transformers import PreTrainedTokenizerBase

from pipeline.config.algorithms import Imitated
from pipeline.train.data import imitable, load_rows
from pipeline.train.lesson import Lesson
from pipeline.train.rollout import imitate


class _Config(Protocol):
    """What is read of verl's section ``data``; see :mod:`pipeline.ops.verl.sft_overrides`."""

    imitates: Imitated
    max_prompt_length: int
    think: bool
    seed: int


class Lessons(Dataset[dict[str, Tensor]]):
    """The rows that have a response to imitate.

    verl's sampler shuffles them with the same seed in every run, so that they are shuffled here.

    Args:
        parquet_files: The dataset.
        tokenizer: The model's.
        config: verl's section ``data``.
        max_samples: So many rows in the order of the file; -1 for all, shuffled.
    """

    def __init__(
        self,
        parquet_files: str,
        tokenizer: PreTrainedTokenizerBase,
        config: _Config,
        max_samples: int = -1,
        **_: object,
    ) -> None:
        found = lessons(
            Path(parquet_files),
            tokenizer,
            config.imitates,
            config.max_prompt_length,
            think=config.think,
        )
        if max_samples < 0:
            Random(f"{config.seed}:lessons").shuffle(found)
        self.lessons = found if max_samples < 0 else found[:max_samples]

    def __len__(self) -> int:
        return len(self.lessons)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        lesson = self.lessons[index]
        places = torch.arange(len(lesson.tokens))
        return {
            "input_ids": torch.tensor(lesson.tokens),
            "position_ids": places,
            "loss_mask": (places >= lesson.given).long(),
        }


def lessons(
    path: Path,
    tokenizer: PreTrainedTokenizerBase,
    what: Imitated,
    max_prompt_tokens: int,
    *,
    think: bool,
) -> list[Lesson]:
    """The prompts of a dataset with their responses, of which the responses are taught.

    Raises:
        UserError: If the file is no dataset, or has nothing to imitate within the limit.
    """
    read = load_rows(path, tokenizer, max_prompt_tokens, think=think)
    rows = imitable(read, what, tokenizer).rows
    pairs = zip(rows, imitate(tokenizer, rows, what), strict=True)
    return [Lesson((*row.prompt, *said.tokens), len(row.prompt)) for row, said in pairs]
