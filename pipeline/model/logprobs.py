"""Log-probabilities of completions, with the prompt of a group encoded once.

The G completions of a group share their prompt. It is encoded in one pass, and only the completions
are run for each sample, attending to the keys and values of that pass; gradients flow through them,
so the result equals the plain padded computation up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel

from pipeline.model.batch import pad_right
from pipeline.model.shared_prefix import attending, encode_prompts


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
    group = len(completions) // len(prompts)
    ids, mask = pad_right(completions, int(model.config.pad_token_id or 0), model.device)
    logits, start, prefix = encode_prompts(model, prompts, group)
    first = logits.unsqueeze(1)
    if ids.shape[1] == 1:
        return first, ids, mask
    with attending(model):
        rest = model(
            input_ids=ids[:, :-1],
            position_ids=start + torch.arange(ids.shape[1] - 1, device=model.device),
            use_cache=False,
            prefix=prefix,
        ).logits
    return torch.cat([first, rest], dim=1), ids, mask
