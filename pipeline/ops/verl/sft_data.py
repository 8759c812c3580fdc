"""What verl's trainer for imitation reads: the dataset parquet as sequences with loss masks.

Prompt, response and end are those of the local trainer, token for token.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor
from torch.utils.data import Dataset
from transformers import PreTrainedTokenizerBase

from pipeline.config.algorithms import Imitated
from pipeline.train.data import imitable, load_rows
from pipeline.train.lesson import Lesson
from pipeline.train.rollout import imitate

ROW = "row"
"""Names the place of a sequence in the data, beside what verl reads."""


class _Config(Protocol):
    """What is read of verl's section ``data``; see :mod:`pipeline.ops.verl.sft_overrides`."""

    imitates: Imitated
    max_prompt_length: int
    think: bool


class Lessons(Dataset[dict[str, Tensor]]):
    """The rows that have a response to imitate, in the order of the file.

    Args:
        parquet_files: The dataset.
        tokenizer: The model's.
        config: verl's section ``data``.
    """

    def __init__(
        self,
        parquet_files: str,
        tokenizer: PreTrainedTokenizerBase,
        config: _Config,
        **_: object,
    ) -> None:
        limit, what = config.max_prompt_length, config.imitates
        found = load_rows(Path(parquet_files), tokenizer, limit, think=config.think)
        self.rows = imitable(found, what).rows
        self.responses = imitate(tokenizer, self.rows, what)

    def __len__(self) -> int:
        return len(self.rows)

    def lesson(self, index: int) -> Lesson:
        """The prompt with its response, of which the response is taught."""
        prompt = self.rows[index].prompt
        return Lesson((*prompt, *self.responses[index].tokens), len(prompt))

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        lesson = self.lesson(index)
        places = torch.arange(len(lesson.tokens))
        return {
            "input_ids": torch.tensor(lesson.tokens),
            "position_ids": places,
            "loss_mask": (places >= lesson.given).long(),
            ROW: torch.tensor([index]),
        }
