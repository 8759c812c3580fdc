"""Qwen2's layers written out, for models so small that calling modules outweighs their arithmetic.

What is computed is transformers' ``Qwen2ForCausalLM`` up to rounding, in a third of the operations:

- queries, keys and values come from one product, gate and up from another;
- the weights of norms, and the scale of queries, are multiplied into the matrices that follow;
- the two numbers that a rotation turns stand beside each other, so that it is one complex product.
  Queries and keys are then in another order than transformers', which their products do not see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import rms_norm, scaled_dot_product_attention, silu
from transformers import PreTrainedModel, Qwen2ForCausalLM

from pipeline.engine.batch import pad_right, sent
from pipeline.engine.key_values import KeyValues
from pipeline.engine.linear import OneDnnLinear, onednn_product
from pipeline.engine.passes import Encoded, ModulePasses, Passes, announce
from pipeline.engine.shared_prefix import Prefix, attend_both, for_all_heads

LARGEST = 2**25
"""Parameters of the largest model that is written out: its matrices are held twice."""

_WORTH_ONEDNN = 2**20
"""Multiplications from which a product is oneDNN's: calls of it cost more than those of MKL.

Fewer than of a module (``plain_below``), which also looks at its operands in each call.
"""

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]


def passes_of(model: PreTrainedModel) -> Passes:
    """The fastest way to run a model in single precision on the device that it is on."""
    config = model.config
    suits = (
        not torch.is_autocast_enabled(model.device.type)
        and type(model) is Qwen2ForCausalLM
        and model.dtype == torch.float32
        and model.num_parameters() <= LARGEST
        and config.rope_parameters.get("rope_type") == "default"
        and set(config.layer_types) == {"full_attention"}
        and config.hidden_act == "silu"
    )
    return WrittenOut(model) if suits else ModulePasses(model)


@dataclass(frozen=True, slots=True)
class _Layer:
    """A layer's matrices, each [outputs, inputs]."""

    to_heads: Tensor  # queries, keys, values
    bias: Tensor
    from_heads: Tensor
    gate_and_up: Tensor
    down: Tensor


class WrittenOut:
    """See :class:`pipeline.engine.passes.Passes`; takes a copy of the weights.

    What asks to be called before passes through the model's layers is called before these.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        config = model.config
        inner: Any = model.model
        self.inner = inner
        self.heads, self.key_heads = config.num_attention_heads, config.num_key_value_heads
        self.size = getattr(config, "head_dim", None) or config.hidden_size // self.heads
        self.epsilon = config.rms_norm_eps
        # As the model's own layers, though from smaller products on.
        self.onednn = isinstance(inner.layers[0].mlp.down_proj, OneDnnLinear)
        with torch.inference_mode():
            self.embedding = inner.embed_tokens.weight
            self.layers = [self._layer(layer) for layer in inner.layers]
            self.head = model.lm_head.weight * inner.norm.weight
            angles = torch.outer(
                torch.arange(config.max_position_embeddings, device=model.device),
                inner.rotary_emb.inv_freq,
            )
            self.turns = torch.polar(torch.ones_like(angles), angles).unsqueeze(1)

    def _layer(self, layer: Any) -> _Layer:
        attention, perceptron = layer.self_attn, layer.mlp
        projections = [attention.q_proj, attention.k_proj, attention.v_proj]
        before, after = layer.input_layernorm.weight, layer.post_attention_layernorm.weight
        both = torch.cat([perceptron.gate_proj.weight, perceptron.up_proj.weight])
        return _Layer(
            self._joined([each.weight for each in projections]) * before,
            self._joined([each.bias for each in projections]),
            attention.o_proj.weight,
            both * after,
            perceptron.down_proj.weight,
        )

    def _joined(self, tensors: Sequence[Tensor]) -> Tensor:
        """Join what makes queries, keys and values; what is turned together stands side by side."""
        query, key, value = tensors
        beside = (
            each.unflatten(0, (-1, 2, self.size // 2)).transpose(1, 2).flatten(0, 2)
            for each in (query * self.size**-0.5, key)
        )
        return torch.cat([*beside, value])

    def encode(self, prompts: Sequence[Sequence[int]]) -> Encoded:
        """See :class:`pipeline.engine.passes.Passes`."""

        # Padding stands after the tokens, where causality hides it.
        def attend(_: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            # In single precision an accelerator's only kernel for fewer keys is its slowest.
            if query.device.type != "cpu":
                key, value = (for_all_heads(each, self.heads) for each in (key, value))
            grouped = key.shape[1] < self.heads
            return scaled_dot_product_attention(
                query, key, value, is_causal=True, scale=1.0, enable_gqa=grouped
            )

        return self._encoded(prompts, [0] * len(prompts), attend)

    def encode_after(
        self, rests: Sequence[Sequence[int]], prefix: Prefix, begun: Sequence[int]
    ) -> Encoded:
        """See :class:`pipeline.engine.passes.Passes`."""

        def attend(layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            return attend_both(query, key, value, prefix, layer, 1.0)

        return self._encoded(rests, begun, attend)

    def _encoded(
        self, rows: Sequence[Sequence[int]], begun: Sequence[int], attend: Attend
    ) -> Encoded:
        """Run over tokens of some rows.

        Args:
            rows: Tokens, none empty.
            begun: Tokens before each.
            attend: Given a layer, the rows' queries [P, heads, L, D], keys and values [P, key-value
                heads, L, D], returns what the queries find [P, heads, L, D].
        """
        device = self.embedding.device
        ids, mask = pad_right(rows, 0, device)
        keys: list[Tensor] = []
        values: list[Tensor] = []

        def by_row(layer: int, *heads: Tensor) -> Tensor:
            query, key, value = (each.unflatten(0, ids.shape).transpose(1, 2) for each in heads)
            # In order: what is not would be copied by the products of every later token, and keep
            # all that it was made with.
            keys.append(key.contiguous())
            values.append(value.contiguous())
            return attend(layer, query, key, value).transpose(1, 2).flatten(0, 1)

        first = sent(begun, device).unsqueeze(1)
        positions = first + torch.arange(ids.shape[1], device=device)
        last = torch.arange(len(rows), device=device) * ids.shape[1] + mask.sum(1) - 1
        logits = self._logits(ids.flatten(), positions.flatten(), by_row, last)
        return Encoded(logits, keys, values, left=False)

    def step(self, tokens: Tensor, lengths: Tensor, memory: KeyValues) -> Tensor:
        """See :class:`pipeline.engine.passes.Passes`."""

        def attend(layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            grouped = query.unflatten(1, (self.key_heads, -1))
            return memory.attend(layer, grouped, key.unsqueeze(2), value.unsqueeze(2)).flatten(1, 2)

        return self._logits(tokens, lengths, attend)

    def _logits(
        self, tokens: Tensor, positions: Tensor, attend: Attend, last: Tensor | None = None
    ) -> Tensor:
        """Logits after some tokens.

        Args:
            tokens: N of them, of any rows [N].
            positions: In their rows [N].
            attend: Given a layer, its queries [N, heads, D], keys and values [N, key-value heads,
                D], returns what the queries find [N, heads, D].
            last: Which of the tokens; all of them if absent.
        """
        announce(self.inner)
        width = (self.embedding.shape[1],)
        state, turns = self.embedding[tokens], self.turns[positions]
        turned = self.heads + self.key_heads
        for index, layer in enumerate(self.layers):
            normed = rms_norm(state, width, None, self.epsilon)
            made = self._added(layer.bias, normed, layer.to_heads).unflatten(1, (-1, self.size))
            pairs = torch.view_as_complex(made[:, :turned].unflatten(2, (-1, 2)))
            heads = torch.view_as_real(pairs * turns).flatten(2)
            found = attend(index, heads[:, : self.heads], heads[:, self.heads :], made[:, turned:])
            if last is not None and index == len(self.layers) - 1:
                state, found = state[last], found[last]
            state = self._added(state, found.flatten(1), layer.from_heads)
            normed = rms_norm(state, width, None, self.epsilon)
            gate, up = self._times(normed, layer.gate_and_up).chunk(2, 1)
            state = self._added(state, silu(gate).mul_(up), layer.down)
        return self._times(rms_norm(state, width, None, self.epsilon), self.head)

    def _times(self, rows: Tensor, weight: Tensor) -> Tensor:
        """Rows [N, in] times the transpose of weight [out, in]."""
        if self._is_worth_onednn(rows, weight):
            return onednn_product(rows, weight, None)
        return rows @ weight.t()

    def _added(self, to: Tensor, rows: Tensor, weight: Tensor) -> Tensor:
        """What :meth:`_times` does, added to [N, out] or [out]."""
        if self._is_worth_onednn(rows, weight):
            return onednn_product(rows, weight, None).add_(to)
        return torch.addmm(to, rows, weight.t())

    def _is_worth_onednn(self, rows: Tensor, weight: Tensor) -> bool:
        if not self.onednn or rows.device.type != "cpu":
            return False
        return rows.shape[0] * weight.numel() > _WORTH_ONEDNN
