"""Training rows: the dataset parquet as token sequences and gold answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from pipeline.base.errors import UserError
from pipeline.config.algorithms import Imitated, Sft
from pipeline.config.params import TrainedCell
from pipeline.data.codec import read_dataset
from pipeline.model.chat import beginning, encode_prompt
from pipeline.tasks.example import Example

if TYPE_CHECKING:  # it loads for seconds, and most who import this want no model
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True, slots=True)
class TokenisedRow:
    """One prompt.

    Attributes:
        prompt: Its tokens.
        example: Grades its completions.
        given: How many of its last tokens are the beginning of a response to imitate.
    """

    prompt: tuple[int, ...]
    example: Example
    given: int = 0


@dataclass(frozen=True)
class TokenisedRows:
    """A tokenised dataset; ``skipped`` prompts are too long, or have nothing to imitate."""

    rows: tuple[TokenisedRow, ...]
    skipped: int


def load_rows(
    path: Path, tokenizer: PreTrainedTokenizerBase, max_prompt_tokens: int, *, think: bool = True
) -> TokenisedRows:
    """Tokenise a dataset parquet; prompts above the limit are skipped and counted.

    Args:
        think: Responses may reason; else prompts end in an empty thought.

    Raises:
        UserError: If the file is not a dataset with rows, or every prompt is too long.
    """
    begun = beginning(think=think)
    rows = [
        TokenisedRow(encode_prompt(tokenizer, row.prompt, begun=begun), row.example)
        for row in read_dataset(path)
    ]
    kept = tuple(row for row in rows if len(row.prompt) <= max_prompt_tokens)
    if not kept:
        raise UserError(
            f"{path}: all {len(rows)} prompts are longer than max_prompt_tokens = "
            f"{max_prompt_tokens} (the shortest has {min(len(row.prompt) for row in rows)}); "
            "raise the limit"
        )
    return TokenisedRows(kept, len(rows) - len(kept))


def response_to(example: Example, what: Imitated) -> str | None:
    """The response that supervised training imitates, if any."""
    written = example.meta.get("imitated")
    return written.get(what) if isinstance(written, dict) else None


def imitable(
    found: TokenisedRows, what: Imitated, tokenizer: PreTrainedTokenizerBase
) -> TokenisedRows:
    """The rows with a response to imitate, the others counted as skipped; UserError without any.

    A beginning of the response that is given becomes part of the prompt.
    """
    kept = tuple(_given(r, what, tokenizer) for r in found.rows if response_to(r.example, what))
    if not kept:
        raise UserError(
            f"no training row holds {what} to imitate; make the data again with: dvc repro"
        )
    return TokenisedRows(kept, found.skipped + len(found.rows) - len(kept))


def _given(row: TokenisedRow, what: Imitated, tokenizer: PreTrainedTokenizerBase) -> TokenisedRow:
    given = row.example.meta.get("given", {}).get(what)
    if not given:
        return row
    tokens = tokenizer.encode(given, add_special_tokens=False)
    return replace(row, prompt=(*row.prompt, *tokens), given=len(tokens))


@dataclass(frozen=True)
class CellRows:
    """The prompts of a cell.

    Attributes:
        read: Training prompts within the limit.
        train: Those of them that the cell can learn from: for imitation, with a response.
    """

    read: TokenisedRows
    train: TokenisedRows
    validation: TokenisedRows

    @classmethod
    def load(cls, inputs: Path, tokenizer: PreTrainedTokenizerBase, cell: TrainedCell) -> CellRows:
        recipe, algorithm = cell.train, cell.algorithm
        read, validation = (
            load_rows(inputs / name, tokenizer, recipe.max_prompt_tokens, think=recipe.think)
            for name in ("train.parquet", "validation.parquet")
        )
        train = (
            imitable(read, algorithm.imitates, tokenizer) if isinstance(algorithm, Sft) else read
        )
        return cls(read, train, validation)


def batches(rows: Sequence[TokenisedRow], size: int, seed: int) -> Iterator[list[TokenisedRow]]:
    """Yield batches endlessly, each epoch in a new order drawn from (seed, epoch).

    An epoch's incomplete last batch is filled from the next epoch.
    """
    pending: list[TokenisedRow] = []
    epoch = 0
    while True:
        order = list(range(len(rows)))
        Random(f"{seed}:order:{epoch}").shuffle(order)
        pending += [rows[index] for index in order]
        while len(pending) >= size:
            yield pending[:size]
            pending = pending[size:]
        epoch += 1
