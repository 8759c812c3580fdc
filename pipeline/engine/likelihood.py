"""Log-likelihoods of continuations of a prompt, which is encoded once for all."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel

from pipeline.engine.batch import real_places
from pipeline.engine.device import answering
from pipeline.engine.halves import Halves
from pipeline.engine.logprobs import completion_states, of_logits

_LOGITS_AT_ONCE = 2**24


@torch.no_grad()
def log_likelihoods(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    texts: Sequence[Sequence[Sequence[int]]],
    precision: str = "float32",
) -> list[list[float]]:
    """The log-likelihood (nats) of each text given its prompt, the sum over its tokens.

    Args:
        prompts: P token sequences, none empty.
        texts: The same number of token sequences per prompt, none empty.
        precision: Of the passes up to hidden states; logits are float32, since bfloat16 resolves
            those of likely tokens to a sixteenth at best.
    """
    rows = [text for of_prompt in texts for text in of_prompt]
    with answering(model, precision):
        states, ids, mask = completion_states(model, prompts, rows)
    real = real_places(rows, model.device)
    states, ids = (each.flatten(0, 1).index_select(0, real) for each in (states, ids))
    (found,) = of_logits(Halves.of(model).head, states.float(), ids, _logprobs, _LOGITS_AT_ONCE)
    zeros = torch.zeros(mask.numel(), device=mask.device)
    sums: list[float] = zeros.index_copy(0, real, found).view_as(mask).sum(-1).tolist()
    places = iter(sums)
    return [[next(places) for _ in of_prompt] for of_prompt in texts]


def _logprobs(logits: Tensor, ids: Tensor) -> tuple[Tensor]:
    return (logits.log_softmax(-1).gather(-1, ids.unsqueeze(-1)).squeeze(-1),)
