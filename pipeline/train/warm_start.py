"""Warm start: supervised training of a tiny model on reasoning traces made by the belief engine.

It gives reinforcement learning something to improve: a model that knows the format, states true
beliefs before it answers, and is often wrong about the harder ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.config import ArithmeticSource, GeneratedSource, WarmStart
from pipeline.data.generated import arithmetic, stories
from pipeline.data.prompt import compact
from pipeline.model.batch import pad_right
from pipeline.tasks.example import Example
from pipeline.train.data import encode_prompt

_PURPOSE = "warm-start"
_WARM_UP_STEPS = 30
_FINAL_SHARE = 0.05  # of the peak learning rate, reached linearly


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A prompt with the response that the model is to imitate."""

    messages: list[dict[str, str]]
    response: str


def demonstrations(
    recipe: WarmStart, sources: Sequence[GeneratedSource], sums: ArithmeticSource | None
) -> Iterator[Demonstration]:
    """Yield demonstrations: the sources and their questions in turn, mixed with arithmetic.

    The stories and problems are drawn for this purpose alone: none is taken from a train,
    validation or test set of the study.
    """
    problems = arithmetic(sums, _PURPOSE, recipe.stories) if sums else None
    random = Random(f"{_PURPOSE}:mix")
    count = recipe.stories // len(sources)
    for index, told in enumerate(zip(*(stories(s, _PURPOSE, count) for s in sources), strict=True)):
        for questions in told:
            if problems and random.random() < recipe.arithmetic_share:
                yield _arithmetic(next(problems))
                continue
            traced = [row for row in questions if row["trace"]]
            row = traced[index % len(traced)]
            yield _story(row, direct=random.random() < recipe.direct_share)


def _story(row: dict[str, Any], direct: bool) -> Demonstration:
    example = Example("generated", "warm_start", row["story"], row["question"], row["answer"])
    trace = "" if direct else f" {row['trace']}"
    return Demonstration(compact(example), f"{trace}</think><answer> {row['answer']}</answer>")


def _arithmetic(row: dict[str, Any]) -> Demonstration:
    example = Example("arithmetic", "warm_start", "", row["question"], row["answer"])
    response = f" {row['solution']}</think><answer> {row['answer']}</answer>"
    return Demonstration(compact(example), response)


def warm_start(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    examples: Sequence[Demonstration],
    recipe: WarmStart,
    report: Callable[[int, int, float], None] = lambda step, total, loss: None,
) -> list[float]:
    """Train the model in place on whole sequences, prompt included; return the loss of each step.

    Predicting the story too teaches the model to copy names from it, which the answers need.
    """
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=recipe.learning_rate, weight_decay=0.01, betas=(0.9, 0.99)
    )
    end = int(tokenizer.eos_token_id)  # type: ignore[arg-type]
    encoded = [_encode(tokenizer, example, end) for example in examples]
    model.train()
    losses: list[float] = []
    for step in range(1, recipe.steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = recipe.learning_rate * _schedule(step, recipe.steps)
        first = (step - 1) * recipe.batch
        batch = [encoded[index % len(encoded)] for index in range(first, first + recipe.batch)]
        ids, mask = pad_right(batch, end, model.device)
        logits = model(input_ids=ids).logits[:, :-1]
        loss = torch.nn.functional.cross_entropy(logits[mask[:, 1:]], ids[:, 1:][mask[:, 1:]])
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        report(step, recipe.steps, losses[-1])
    return losses


def _encode(tokenizer: PreTrainedTokenizerBase, example: Demonstration, end: int) -> list[int]:
    prompt = encode_prompt(tokenizer, example.messages)
    return [*prompt, *tokenizer.encode(example.response, add_special_tokens=False), end]


def _schedule(step: int, total: int) -> float:
    """Return the share of the peak learning rate: linear warm-up, then linear decay."""
    return min(1.0, step / _WARM_UP_STEPS) * max(_FINAL_SHARE, 1 - step / total)


def texts(examples: Sequence[Demonstration], count: int) -> Iterator[str]:
    """Yield the texts that the tokenizer is trained on."""
    for example in islice(examples, count):
        yield from (message["content"] for message in example.messages)
        yield example.response
