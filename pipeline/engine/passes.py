"""Forward passes over prompts and single tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from transformers import DynamicCache, PreTrainedModel

from pipeline.engine.batch import pad_right, sent
from pipeline.engine.halves import Halves
from pipeline.engine.key_values import KeyValues
from pipeline.engine.shared_prefix import Prefix, attending, by_key_head, encode_prompts, held


@dataclass(frozen=True, slots=True)
class Encoded:
    """Result of a pass over prompts; P = prompts, L = tokens of the longest.

    Attributes:
        logits: Of the token after each prompt [P, V].
        keys: Per layer [P, key-value heads, L, width of a head].
        values: As ``keys``.
        left: Padding precedes a prompt.
    """

    logits: Tensor
    keys: Sequence[Tensor]
    values: Sequence[Tensor]
    left: bool

    def prefix(self, lengths: Sequence[int], group: int) -> Prefix:
        return Prefix.of(self.keys, self.values, lengths, group, left=self.left)


class Passes(Protocol):
    """Forward passes of a model."""

    def encode(self, prompts: Sequence[Sequence[int]]) -> Encoded:
        """Run over whole prompts, none empty."""

    def encode_after(
        self, rests: Sequence[Sequence[int]], prefix: Prefix, begun: Sequence[int]
    ) -> Encoded:
        """Run over continuations, none empty, of shared prefixes; the result is for these alone.

        ``begun`` is the number of tokens before each.
        """

    def step(self, tokens: Tensor, lengths: Tensor, memory: KeyValues) -> Tensor:
        """Run over one token of each row [B], with ``lengths`` tokens before it [B].

        Returns:
            Logits of the next token [B, V].
        """


def announce(layers: nn.Module) -> None:
    for hook in layers._forward_pre_hooks.values():
        hook(layers, ())


class ModulePasses:
    """Passes through the modules of transformers, for any architecture."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model

    def encode(self, prompts: Sequence[Sequence[int]]) -> Encoded:
        states, keys, values = encode_prompts(self.model, prompts)
        return Encoded(Halves.of(self.model).head(states), keys, values, left=True)

    def encode_after(
        self, rests: Sequence[Sequence[int]], prefix: Prefix, begun: Sequence[int]
    ) -> Encoded:
        halves, device = Halves.of(self.model), self.model.device
        ids, mask = pad_right(rests, int(self.model.config.pad_token_id or 0), device)
        first = sent(begun, device).unsqueeze(1)
        cache = DynamicCache(config=self.model.config)
        with attending(self.model):
            states = halves.body(
                input_ids=ids,
                position_ids=first + torch.arange(ids.shape[1], device=device),
                past_key_values=cache,
                use_cache=True,
                prefix=prefix,
            )
        logits = halves.head(states[torch.arange(len(rests), device=device), mask.sum(-1) - 1])
        return Encoded(logits, *held(cache), left=False)

    def step(self, tokens: Tensor, lengths: Tensor, memory: KeyValues) -> Tensor:
        with attending(self.model, _attend):
            logits: Tensor = self.model(
                input_ids=tokens.unsqueeze(1),
                position_ids=lengths.unsqueeze(1),
                use_cache=False,
                memory=memory,
            ).logits[:, -1]
        return logits


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float,
    memory: KeyValues,
    **_: object,
) -> tuple[Tensor, None]:
    """Attend from one token per row [B, heads, 1, D] to the row's tokens so far."""
    layer = int(module.layer_idx)  # type: ignore[arg-type]
    grouped = by_key_head(query * scaling, key.shape[1])
    output = memory.attend(layer, grouped, key, value).reshape_as(query)
    return output.transpose(1, 2).contiguous(), None
