"""Training rows: the dataset parquet as token sequences and gold answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from transformers import PreTrainedTokenizerBase

from pipeline.data.codec import read_dataset
from pipeline.errors import UserError
from pipeline.model.chat import encode_prompt
from pipeline.tasks.example import Example


@dataclass(frozen=True, slots=True)
class Row:
    """One prompt: its tokens and the example that grades its completions."""

    prompt: tuple[int, ...]
    example: Example


@dataclass(frozen=True)
class Rows:
    """A tokenised dataset; ``skipped`` prompts were longer than the limit."""

    rows: tuple[Row, ...]
    skipped: int


def load_rows(path: Path, tokenizer: PreTrainedTokenizerBase, max_prompt_tokens: int) -> Rows:
    """Tokenise a dataset parquet; prompts above the limit are skipped and counted.

    Raises:
        UserError: If the file is not a dataset with rows, or every prompt is too long.
    """
    rows = [Row(encode_prompt(tokenizer, row.prompt), row.example) for row in read_dataset(path)]
    kept = tuple(row for row in rows if len(row.prompt) <= max_prompt_tokens)
    if not kept:
        raise UserError(
            f"{path}: all {len(rows)} prompts are longer than max_prompt_tokens = "
            f"{max_prompt_tokens} (the shortest has {min(len(row.prompt) for row in rows)}); "
            "raise the limit"
        )
    return Rows(kept, len(rows) - len(kept))


def batches(rows: Sequence[Row], size: int, seed: int) -> Iterator[list[Row]]:
    """Yield batches for ever: each epoch in a new order drawn from (seed, epoch).

    An epoch's incomplete last batch is filled from the next epoch.
    """
    pending: list[Row] = []
    epoch = 0
    while True:
        order = list(range(len(rows)))
        Random(f"{seed}:order:{epoch}").shuffle(order)
        pending += [rows[index] for index in order]
        while len(pending) >= size:
            yield pending[:size]
            pending = pending[size:]
        epoch += 1
