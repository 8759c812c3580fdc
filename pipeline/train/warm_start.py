"""Warm start: supervised training of a tiny model on reasoning traces made by the belief engine.

It gives reinforcement learning something to improve: a model that knows the format, states true
beliefs before it answers, and is often wrong about the harder ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from statistics import mean

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.config.models import WarmStart
from pipeline.config.sources import ArithmeticSource, GeneratedSource
from pipeline.data.generated import Problem, StoryRow, arithmetic, stories
from pipeline.data.prompt import compact
from pipeline.model.batch import pad_right
from pipeline.model.chat import encode_prompt
from pipeline.model.decode import Sampling, generate
from pipeline.tasks.example import Example
from pipeline.tasks.grading import extract_tagged

_PURPOSE = "warm-start"
_WARM_UP_STEPS = 30
_HELD_OUT = 200  # demonstrations that the target accuracy is measured on
_CHECK_EVERY = 20  # steps
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


def _story(row: StoryRow, direct: bool) -> Demonstration:
    example = Example("generated", "warm_start", row["story"], row["question"], row["answer"])
    trace = "" if direct else f" {row['trace']}"
    return Demonstration(compact(example), f"{trace}</think><answer> {row['answer']}</answer>")


def _arithmetic(row: Problem) -> Demonstration:
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

    Predicting the story too teaches the model to copy names from it, which the answers need. The
    last examples are held out where the recipe has a target accuracy.
    """
    held_out = examples[-_HELD_OUT:] if recipe.target_accuracy is not None else ()
    shown = examples[: len(examples) - len(held_out)]
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=recipe.learning_rate, weight_decay=0.01, betas=(0.9, 0.99)
    )
    end = int(tokenizer.eos_token_id)  # type: ignore[arg-type]
    encoded = [_encode(tokenizer, example, end) for example in shown]
    losses: list[float] = []
    for step in range(1, recipe.steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = recipe.learning_rate * _schedule(step, recipe)
        first = (step - 1) * recipe.batch
        batch = [encoded[index % len(encoded)] for index in range(first, first + recipe.batch)]
        losses.append(_imitate(model, optimizer, batch, end))
        report(step, recipe.steps, losses[-1])
        due = recipe.target_accuracy is not None and step % _CHECK_EVERY == 0
        if due and accuracy(model, tokenizer, held_out) >= (recipe.target_accuracy or 0):
            break
    return losses


def _imitate(
    model: PreTrainedModel, optimizer: torch.optim.Optimizer, batch: list[list[int]], end: int
) -> float:
    """Take one optimiser step on a batch of sequences and return its loss."""
    model.train()
    ids, mask = pad_right(batch, end, model.device)
    logits = model(input_ids=ids).logits[:, :-1]
    loss = torch.nn.functional.cross_entropy(logits[mask[:, 1:]], ids[:, 1:][mask[:, 1:]])
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


def accuracy(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    examples: Sequence[Demonstration],
) -> float:
    """Return the share of demonstrations whose answer the model gives, decoding greedily."""
    model.eval()
    prompts = [encode_prompt(tokenizer, example.messages) for example in examples]
    longest = max(len(tokenizer.encode(example.response)) for example in examples)
    end = int(tokenizer.eos_token_id)  # type: ignore[arg-type]
    keys = [(index,) for index in range(len(prompts))]
    completions = generate(model, prompts, keys, Sampling(longest + 1, temperature=0), end)
    given = [extract_tagged(tokenizer.decode(list(c.tokens))) for c in completions]
    wanted = [extract_tagged(example.response) for example in examples]
    return mean(float(one == other) for one, other in zip(given, wanted, strict=True))


def _encode(tokenizer: PreTrainedTokenizerBase, example: Demonstration, end: int) -> list[int]:
    prompt = encode_prompt(tokenizer, example.messages)
    return [*prompt, *tokenizer.encode(example.response, add_special_tokens=False), end]


def _schedule(step: int, recipe: WarmStart) -> float:
    """Return the share of the peak learning rate: linear warm-up, then linear decay.

    With a target accuracy the end is not known beforehand, so the rate stays at its peak.
    """
    rise = min(1.0, step / _WARM_UP_STEPS)
    if recipe.target_accuracy is not None:
        return rise
    return rise * max(_FINAL_SHARE, 1 - step / recipe.steps)


def texts(examples: Sequence[Demonstration], count: int) -> Iterator[str]:
    """Yield the texts that the tokenizer is trained on."""
    for example in islice(examples, count):
        yield from (message["content"] for message in example.messages)
        yield example.response
