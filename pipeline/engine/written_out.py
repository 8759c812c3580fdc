"""Layers of Qwen2 and Llama written out: for small models, calling modules and casting outweigh
arithmetic.

What is computed is transformers' ``Qwen2ForCausalLM`` or ``LlamaForCausalLM`` up to rounding, in a
third of the operations:

- queries, keys and values come from one product, gate and up from another;
- the scale of queries is multiplied into their matrix;
- the two numbers that a rotation turns stand beside each other, so that it is one complex product.
  Queries and keys are then in another order than transformers', which their products do not see;
- large matrices are packed for oneDNN once, not in each product.

Under autocast to bfloat16, products and attention are in it, all else in single precision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear, rms_norm, scaled_dot_product_attention, silu
from transformers import PreTrainedModel

from pipeline.engine.batch import pad_right, sent
from pipeline.engine.families import is_written_out
from pipeline.engine.key_values import KeyValues
from pipeline.engine.linear import OneDnnLinear, onednn_product, packed
from pipeline.engine.passes import Encoded, ModulePasses, Passes, announce
from pipeline.engine.shared_prefix import Prefix, attend_both, for_all_heads

LARGEST = 2**29
"""Parameter limit: matrices of a written-out model are held twice."""

_WORTH_ONEDNN = 2**20
"""Multiplications from which a product uses oneDNN, whose calls cost more than MKL's.

Fewer than for modules (``plain_below``), which inspect their operands in each call.
"""

_WORTH_PACKING = 2**18
"""Size from which a matrix is packed: for smaller ones, MKL is as fast."""

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]


def passes_of(model: PreTrainedModel) -> Passes:
    """The fastest passes for a model on its device."""
    kind = model.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else torch.float32
    suits = (
        is_written_out(model)
        and model.dtype == torch.float32
        and (dtype == torch.float32 or (dtype == torch.bfloat16 and kind == "cpu"))
        and model.num_parameters() <= LARGEST
    )
    return WrittenOut(model, dtype) if suits else ModulePasses(model)


class _Matrix:
    """A weight [outputs, inputs], packed if it is large, with its bias."""

    def __init__(self, weight: Tensor, bias: Tensor | None, *, onednn: bool) -> None:
        self.bias, self.size = bias, weight.numel()
        self.onednn = onednn and weight.dtype == torch.float32
        self.packed = packed(weight) if self.size >= _WORTH_PACKING else None
        self.weight = weight if self.packed is None else self.packed

    def times(self, rows: Tensor) -> Tensor:
        """Rows [N, inputs] times its transpose, plus the bias [N, outputs]."""
        if self._by_onednn(rows):
            return onednn_product(rows, self.weight, self.bias)
        return linear(rows, self.weight, self.bias)

    def added(self, to: Tensor, rows: Tensor) -> Tensor:
        """:meth:`times` without bias, added to [N, outputs]."""
        if self.weight.dtype != to.dtype or self._by_onednn(rows):
            return self.times(rows).add(to)
        return torch.addmm(to, rows, self.weight.t())

    def _by_onednn(self, rows: Tensor) -> bool:
        worth = self.onednn and rows.shape[0] * self.size > _WORTH_ONEDNN
        return worth or self.packed is not None


@dataclass(frozen=True, slots=True)
class _Layer:
    """A layer's matrices, and the weights of its norms."""

    before: Tensor
    to_heads: _Matrix  # queries, keys, values
    from_heads: _Matrix
    after: Tensor
    gate_and_up: _Matrix
    down: _Matrix


class WrittenOut:
    """See :class:`pipeline.engine.passes.Passes`; copies the weights and calls pre-hooks of layers.

    Products and attention are computed in ``dtype``.
    """

    def __init__(self, model: PreTrainedModel, dtype: torch.dtype = torch.float32) -> None:
        config = model.config
        inner: Any = model.model
        self.inner, self.dtype = inner, dtype
        self.heads, self.key_heads = config.num_attention_heads, config.num_key_value_heads
        self.size = getattr(config, "head_dim", None) or config.hidden_size // self.heads
        self.epsilon = config.rms_norm_eps
        on_cpu = model.device.type == "cpu"
        # As the model's own layers, though from smaller products on.
        self.onednn = on_cpu and isinstance(inner.layers[0].mlp.down_proj, OneDnnLinear)
        with torch.inference_mode(), self._as_written():
            self.embedding, self.norm = inner.embed_tokens.weight, inner.norm.weight
            self.layers = [self._layer(layer) for layer in inner.layers]
            self.head = self._matrix([model.lm_head.weight])
            angles = torch.outer(
                torch.arange(config.max_position_embeddings, device=model.device),
                inner.rotary_emb.inv_freq,
            )
            self.turns = torch.polar(torch.ones_like(angles), angles).unsqueeze(1)

    def _layer(self, layer: Any) -> _Layer:
        attention, perceptron = layer.self_attn, layer.mlp
        projections = [attention.q_proj, attention.k_proj, attention.v_proj]
        biased = projections[0].bias is not None
        return _Layer(
            layer.input_layernorm.weight,
            self._matrix(
                self._beside([each.weight for each in projections]),
                self._beside([each.bias for each in projections]) if biased else None,
            ),
            self._matrix([attention.o_proj.weight]),
            layer.post_attention_layernorm.weight,
            self._matrix([perceptron.gate_proj.weight, perceptron.up_proj.weight]),
            self._matrix([perceptron.down_proj.weight]),
        )

    def _matrix(self, weights: Sequence[Tensor], biases: Sequence[Tensor] | None = None) -> _Matrix:
        bias = None if biases is None else torch.cat([each.to(self.dtype) for each in biases])
        # One alone is not copied, unless it is cast.
        first, *others = (each.to(self.dtype) for each in weights)
        weight = torch.cat([first, *others]) if others else first
        return _Matrix(weight, bias, onednn=self.onednn)

    def _beside(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Projections to queries, keys and values, with rotated pairs adjacent."""
        query, key, value = tensors
        beside = (
            each.unflatten(0, (-1, 2, self.size // 2)).transpose(1, 2).flatten(0, 2)
            for each in (query * self.size**-0.5, key)
        )
        return [*beside, value]

    def encode(self, prompts: Sequence[Sequence[int]]) -> Encoded:
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
            attend: From a layer, queries [P, heads, L, D], keys and values [P, key-value heads, L,
                D] to attention's output [P, heads, L, D].
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
        def attend(layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            grouped = query.unflatten(1, (self.key_heads, -1))
            return memory.attend(layer, grouped, key.unsqueeze(2), value.unsqueeze(2)).flatten(1, 2)

        return self._logits(tokens, lengths, attend)

    def _logits(
        self, tokens: Tensor, positions: Tensor, attend: Attend, last: Tensor | None = None
    ) -> Tensor:
        """Logits after some tokens.

        Args:
            tokens: [N], of any rows.
            positions: In their rows [N].
            attend: From a layer, queries [N, heads, D], keys and values [N, key-value heads, D] to
                attention's output [N, heads, D].
            last: Indices of the tokens; all of them by default.
        """
        announce(self.inner)
        with self._as_written():
            return self._run(self.embedding[tokens], self.turns[positions], attend, last)

    def _run(self, state: Tensor, turns: Tensor, attend: Attend, last: Tensor | None) -> Tensor:
        """Logits from states of tokens [N, width] and their rotations [N, 1, D / 2]."""
        turned = self.heads + self.key_heads
        for index, layer in enumerate(self.layers):
            made = layer.to_heads.times(self._normed(state, layer.before))
            made = made.unflatten(1, (-1, self.size))
            pairs = torch.view_as_complex(made[:, :turned].float().unflatten(2, (-1, 2)))
            heads = torch.view_as_real(pairs * turns).flatten(2).to(self.dtype)
            found = attend(index, heads[:, : self.heads], heads[:, self.heads :], made[:, turned:])
            if last is not None and index == len(self.layers) - 1:
                state, found = state[last], found[last]
            state = layer.from_heads.added(state, found.flatten(1))
            gate, up = layer.gate_and_up.times(self._normed(state, layer.after)).chunk(2, 1)
            state = layer.down.added(state, silu(gate).mul_(up))
        return self.head.times(self._normed(state, self.norm))

    def _as_written(self) -> AbstractContextManager[object]:
        """A context in which autocast changes no number format."""
        on = self.dtype != torch.float32
        return torch.autocast("cpu", enabled=False) if on else nullcontext()

    def _normed(self, state: Tensor, weight: Tensor) -> Tensor:
        return rms_norm(state, weight.shape, weight, self.epsilon).to(self.dtype)
