"""Figures of completions, with the prompt of a group encoded once.

The prompt of a group's G completions is encoded in one pass; completions attend to its keys and
values. Gradients flow through them, so the result equals the plain padded computation up to
rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint
from transformers import PreTrainedModel

from pipeline.engine.batch import pad_right, sent
from pipeline.engine.halves import Halves
from pipeline.engine.packed import packed_states, packs
from pipeline.engine.shared_prefix import Prefix, attending, encode_prompts


def completion_states(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    completions: Sequence[Sequence[int]],
) -> tuple[Tensor, Tensor, Tensor]:
    """The states from which each completion token is predicted.

    Args:
        prompts: P token sequences, none empty.
        completions: P * G token sequences, prompt by prompt.

    Returns:
        states [P * G, T, width], inputs of the model's head; ids [P * G, T] and mask [P * G, T]
        (True on real tokens).
    """
    if packs(model):
        return packed_states(model, prompts, completions, torch.bfloat16)
    group = len(completions) // len(prompts)
    ids, mask = pad_right(completions, int(model.config.pad_token_id or 0), model.device)
    states, keys, values = encode_prompts(model, prompts)
    first = states.repeat_interleave(group, 0).unsqueeze(1)
    if ids.shape[1] == 1:
        return first, ids, mask
    ends = [len(prompt) for prompt in prompts]
    start = sent(ends, model.device).repeat_interleave(group).unsqueeze(1)
    with attending(model):
        rest = Halves.of(model).body(
            input_ids=ids[:, :-1],
            position_ids=start + torch.arange(ids.shape[1] - 1, device=model.device),
            use_cache=False,
            prefix=Prefix.of(keys, values, ends, group, left=True),
        )
    return torch.cat([first, rest], dim=1), ids, mask


def of_logits(
    head: Callable[[Tensor], Tensor],
    states: Tensor,
    ids: Tensor,
    wanted: Callable[[Tensor, Tensor], tuple[Tensor, ...]],
    at_once: int,
) -> tuple[Tensor, ...]:
    """Figures of tokens from their logits, in blocks that bound memory.

    Larger inputs are computed block by block, and once more for their gradients.

    Args:
        head: From states [..., width] to logits [..., V].
        states: Of the tokens [N, width].
        wanted: From logits [n, V] and tokens [n] to figures, each [n].

    Returns:
        The figures, each [N].
    """

    def of(states: Tensor, ids: Tensor) -> tuple[Tensor, ...]:
        return wanted(head(states), ids)

    rows = max(1, at_once // int(getattr(head, "out_features", states.shape[-1])))
    if len(states) <= rows:
        return of(states, ids)
    parts = zip(states.split(rows), ids.split(rows), strict=True)
    if torch.is_grad_enabled():
        done = [checkpoint(of, *part, use_reentrant=False) for part in parts]
    else:
        done = [of(*part) for part in parts]
    return tuple(torch.cat(figure) for figure in zip(*done, strict=True))
