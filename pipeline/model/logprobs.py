"""Log-probabilities of completions, with the prompt of a group encoded once.

The G completions of a group share their prompt. It is encoded in one pass, and only the completions
are run for each sample, attending to the keys and values of that pass; gradients flow through them,
so the result equals the plain padded computation up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, PreTrainedModel

from pipeline.model.batch import pad_left, pad_right, positions
from pipeline.model.shared_prefix import Prefix, attending


def completion_logits(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    completions: Sequence[Sequence[int]],
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the logits that predict each completion token.

    Args:
        model: A causal language model.
        prompts: P token sequences, none empty.
        completions: P * G token sequences, those of prompt p at p * G ... p * G + G - 1.

    Returns:
        logits [P * G, T, V], ids [P * G, T] and mask [P * G, T] (True on real tokens).
    """
    pad = int(model.config.pad_token_id or 0)
    group = len(completions) // len(prompts)
    prompt_ids, prompt_mask = pad_left(prompts, pad, model.device)
    ids, mask = pad_right(completions, pad, model.device)
    cache = DynamicCache(config=model.config)
    decoder: Any = model
    first = decoder(
        input_ids=prompt_ids,
        attention_mask=prompt_mask.long(),
        position_ids=positions(prompt_mask),
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    ).logits.repeat_interleave(group, 0)
    if ids.shape[1] == 1:
        return first, ids, mask
    prefix = Prefix.of(cache, prompt_mask, group)
    start = prompt_mask.long().sum(-1, keepdim=True).repeat_interleave(group, 0)
    with attending(model):
        rest = decoder(
            input_ids=ids[:, :-1],
            position_ids=start + torch.arange(ids.shape[1] - 1, device=model.device),
            use_cache=False,
            prefix=prefix,
        ).logits
    return torch.cat([first, rest], dim=1), ids, mask


def completion_logprobs(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    completions: Sequence[Sequence[int]],
    temperature: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return log-probabilities and entropies of completion tokens under the sampling temperature.

    Returns:
        logprobs [P * G, T], entropies [P * G, T] (nats) and mask [P * G, T]; padding holds zeros.
    """
    logits, ids, mask = completion_logits(model, prompts, completions)
    log_softmax = torch.log_softmax(logits.float() / temperature, dim=-1)
    logprobs = log_softmax.gather(-1, ids.unsqueeze(-1)).squeeze(-1)
    entropies = -(log_softmax.exp() * log_softmax).sum(-1)
    return logprobs * mask, entropies * mask, mask
