"""Training rows: the dataset parquet as token sequences and gold answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
from transformers import PreTrainedTokenizerBase

from pipeline.data.rows import example_of
from pipeline.errors import UserError
from pipeline.model.chat import encode_prompt
from pipeline.tasks.example import Example

COLUMNS = ("data_source", "prompt", "ability", "reward_model", "extra_info")


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


def read_parquet(path: Path) -> pd.DataFrame:
    """Read a dataset parquet and check its columns.

    Raises:
        UserError: If the file is missing, corrupt, empty, or not in the dataset contract.
    """
    try:
        frame = pd.read_parquet(path)
    except FileNotFoundError:
        raise UserError(f"{path} does not exist; make it with: dvc repro dataset") from None
    except Exception as error:
        raise UserError(
            f"{path} is not a readable parquet file ({error}); delete it and run: dvc repro dataset"
        ) from error
    missing = [column for column in COLUMNS if column not in frame.columns]
    if missing:
        raise UserError(f"{path} lacks the columns {missing}; a dataset has {list(COLUMNS)}")
    if frame.empty:
        raise UserError(f"{path} holds no rows; check the limits of its combination in the study")
    return frame


def load_rows(path: Path, tokenizer: PreTrainedTokenizerBase, max_prompt_tokens: int) -> Rows:
    """Tokenise a dataset parquet; prompts above the limit are skipped and counted."""
    frame = read_parquet(path)
    rows = [
        Row(encode_prompt(tokenizer, record["prompt"]), _example(record))
        for record in frame.to_dict("records")
    ]
    kept = tuple(row for row in rows if len(row.prompt) <= max_prompt_tokens)
    if not kept:
        raise UserError(
            f"{path}: all {len(rows)} prompts are longer than max_prompt_tokens = "
            f"{max_prompt_tokens} (the shortest has {min(len(row.prompt) for row in rows)}); "
            "raise the limit"
        )
    return Rows(kept, len(rows) - len(kept))


def _example(record: dict[Any, Any]) -> Example:
    """Return the example that grades a row."""
    info = record["extra_info"]
    return example_of(
        info,
        benchmark=record["ability"],
        task=record["data_source"],
        answer=record["reward_model"]["ground_truth"],
        story_id=info["story_id"],
        id=info["id"],
    )


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
