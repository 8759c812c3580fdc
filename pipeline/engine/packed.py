"""Layers of Qwen2 and Llama with gradients, without padding.

Results equal transformers' up to rounding. Prompts and completions go through a layer together,
without padding; attention alone lays them out in rows. The gradients of a layer are written out, so
that

- queries, keys and values come from one product, gate and up from another, and what flows back from
  each is one product, too;
- a norm, a rotation or an activation is a few passes over memory, not a dozen, and what its
  gradient needs is held in the number format of the products.

Products and attention are in the number format of autocast, all else is in single precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import silu
from transformers import PreTrainedModel

from pipeline.engine.batch import pad_right, real_places, sent
from pipeline.engine.families import is_written_out
from pipeline.engine.passes import announce
from pipeline.engine.shared_prefix import Prefix, attend_alone, halves_on_cpu, joined

_silu_backward = torch.ops.aten.silu_backward


@dataclass(frozen=True, slots=True)
class _Rows:
    """Indices of real tokens among N * T positions, padding after them."""

    places: Tensor  # [tokens]
    count: int  # N
    longest: int  # T

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], device: torch.device) -> _Rows:
        return cls(real_places(rows, device), len(rows), max(1, *map(len, rows)))

    def lay(self, tokens: Tensor) -> Tensor:
        """Tokens [tokens, ...] as rows [N, T, ...]; padding is zeros."""
        laid: Tensor = _Laid.apply(tokens, self.places, self.count * self.longest)  # type: ignore[no-untyped-call]
        return laid.view(self.count, self.longest, *tokens.shape[1:])

    def lay_heads(self, tokens: Tensor) -> Tensor:
        """Heads of tokens [tokens, heads, D] in the layout of attention [N, heads, T, D]."""
        return self.lay(tokens).transpose(1, 2)

    def take_heads(self, rows: Tensor) -> Tensor:
        """Attention's output [N, heads, T, D] by token [tokens, heads * D]."""
        return _taken(rows.transpose(1, 2).flatten(2).flatten(0, 1), self.places)


@dataclass(frozen=True, slots=True)
class _Batch:
    """The tokens of a batch: all prompts, then all completions without their last token.

    Nothing is predicted from the last token of a completion.
    """

    prompts: Sequence[Sequence[int]]
    begun: Sequence[Sequence[int]]
    device: torch.device
    before: _Rows
    after: _Rows

    @classmethod
    def of(
        cls,
        prompts: Sequence[Sequence[int]],
        completions: Sequence[Sequence[int]],
        device: torch.device,
    ) -> _Batch:
        begun = [row[:-1] for row in completions]
        return cls(prompts, begun, device, _Rows.of(prompts, device), _Rows.of(begun, device))

    @property
    def group(self) -> int:
        return len(self.begun) // len(self.prompts)

    @property
    def lengths(self) -> list[int]:
        return [len(prompt) for prompt in self.prompts]

    def tokens(self) -> Tensor:
        return sent([token for row in (*self.prompts, *self.begun) for token in row], self.device)

    def positions(self) -> Tensor:
        """Positions, a completion's after those of its prompt [tokens]."""
        starts = [length for length in self.lengths for _ in range(self.group)]
        spans = [range(length) for length in self.lengths]
        spans += [range(s, s + len(row)) for s, row in zip(starts, self.begun, strict=True)]
        return sent([place for span in spans for place in span], self.device)

    def needed(self) -> Tensor:
        """Indices of the tokens that predict another, each prompt's last one first."""
        ends = sent(self.lengths, self.device).cumsum(0) - 1
        first, count = len(self.before.places), len(self.after.places)
        return torch.cat([ends, torch.arange(first, first + count, device=self.device)])

    def attended(self, heads: Sequence[Tensor], scale: float) -> Tensor:
        """Attention's output [tokens, heads * D] for queries, keys, values [tokens, heads, D]."""
        first = len(self.before.places)
        query, key, value = (self.before.lay_heads(each[:first]) for each in heads)
        found = self.before.take_heads(attend_alone(query, key, value, None, scale))
        if not len(self.after.places):
            return found
        prefix = Prefix.of([key], [value], self.lengths, self.group)
        query, keys, values = (self.after.lay_heads(each[first:]) for each in heads)
        rows = joined(query, keys, values, key, value, prefix, scale)
        return torch.cat([found, self.after.take_heads(rows)])

    def predicting(self, states: Tensor) -> Tensor:
        """States of the ``needed`` tokens, by completion token [N, T, width]."""
        first = states[: len(self.prompts)].repeat_interleave(self.group, 0).unsqueeze(1)
        if not len(self.after.places):
            return first
        return torch.cat([first, self.after.lay(states[len(self.prompts) :])], 1)


class _Laid(torch.autograd.Function):
    """Scatter rows to distinct indices, zeros elsewhere."""

    @staticmethod
    def forward(context: Any, rows: Tensor, places: Tensor, count: int) -> Tensor:
        context.save_for_backward(places)
        return _put(rows, places, count)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (places,) = context.saved_tensors
        return gradient.index_select(0, places), None, None


class _Taken(torch.autograd.Function):
    """Gather rows at distinct indices."""

    @staticmethod
    def forward(context: Any, rows: Tensor, places: Tensor) -> Tensor:
        context.save_for_backward(places)
        context.count = len(rows)
        return rows.index_select(0, places)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (places,) = context.saved_tensors
        return _put(gradient, places, context.count), None


def _put(rows: Tensor, places: Tensor, count: int) -> Tensor:
    return rows.new_zeros(count, *rows.shape[1:]).index_copy_(0, places, rows)


def _taken(rows: Tensor, places: Tensor) -> Tensor:
    taken: Tensor = _Taken.apply(rows, places)  # type: ignore[no-untyped-call]
    return taken


def packs(model: PreTrainedModel) -> bool:
    """These layers are the faster ones for a model on its device and under the current autocast."""
    return halves_on_cpu(model) and is_written_out(model)


def packed_states(
    model: PreTrainedModel,
    prompts: Sequence[Sequence[int]],
    completions: Sequence[Sequence[int]],
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor, Tensor]:
    """See :func:`pipeline.engine.logprobs.completion_states`; ``dtype`` is that of products."""
    inner: Any = model.model
    announce(inner)
    ids, mask = pad_right(completions, 0, model.device)
    batch = _Batch.of(prompts, completions, model.device)
    with torch.autocast(model.device.type, enabled=False):
        state = inner.embed_tokens(batch.tokens())
        turns, needed = _Turns.of(inner, batch.positions()), batch.needed()
        for layer in inner.layers:
            heads = _into(state, layer, turns, dtype)
            found = batch.attended(heads, layer.self_attn.scaling)
            if layer is inner.layers[-1]:
                state, found = _taken(state, needed), _taken(found, needed)
            state = _out_of(state, found, layer, dtype)
        return batch.predicting(inner.norm(state)), ids, mask


@dataclass(frozen=True, slots=True)
class _Turns:
    """Rotary cosines and sines, each [tokens, 1, D / 2]."""

    cosines: Tensor
    sines: Tensor

    @classmethod
    def of(cls, inner: Any, positions: Tensor) -> _Turns:
        both = inner.rotary_emb(inner.embed_tokens.weight, positions.unsqueeze(0))
        return cls(*(each[0].chunk(2, -1)[0].unsqueeze(1) for each in both))

    def turn(self, heads: Tensor, *, back: bool = False) -> Tensor:
        """Rotate heads [tokens, heads, D], or rotate back, in single precision."""
        first, second = heads.float().chunk(2, -1)
        turned = torch.empty_like(heads, dtype=torch.float32)
        one, two = turned.chunk(2, -1)
        sign = 1 if back else -1
        torch.mul(first, self.cosines, out=one).addcmul_(second, self.sines, value=sign)
        torch.mul(second, self.cosines, out=two).addcmul_(first, self.sines, value=-sign)
        return turned


def _normed(state: Tensor, weight: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    """RMS norm of states [tokens, width], and the factors of the rows [tokens, 1]."""
    mean = torch.linalg.vecdot(state, state).div_(state.shape[1])
    scale = mean.add_(epsilon).rsqrt_().unsqueeze(1)
    return (state * scale).mul_(weight), scale


def _norm_gradients(
    gradient: Tensor, state: Tensor, scale: Tensor, weight: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradients of states and weight from that of their norm [tokens, width]."""
    normal, given = state * scale, gradient.float()
    product = given * normal
    of_weight = product.sum(0)
    share = torch.linalg.vecdot(product, weight).div_(state.shape[1]).unsqueeze(1)
    of_state = (given * weight).addcmul_(normal, share, value=-1).mul_(scale)
    return of_state, of_weight


def _into(
    state: Tensor, layer: Any, turns: _Turns, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of states [tokens, width]: each [tokens, heads, D]."""
    norm, attention = layer.input_layernorm, layer.self_attn
    projections: list[nn.Linear] = [attention.q_proj, attention.k_proj, attention.v_proj]
    weights = (each.weight for each in projections)
    biases = (each.bias for each in projections if each.bias is not None)
    how = (norm.variance_epsilon, turns, attention.head_dim, dtype)
    query, key, value = _Into.apply(state, norm.weight, *how, *weights, *biases)  # type: ignore[no-untyped-call]
    return query, key, value


class _Into(torch.autograd.Function):
    """A layer up to its attention."""

    @staticmethod
    def forward(
        context: Any,
        state: Tensor,
        norm: Tensor,
        epsilon: float,
        turns: _Turns,
        size: int,
        dtype: torch.dtype,
        *projections: Tensor,
    ) -> tuple[Tensor, ...]:
        weights, biases = projections[:3], projections[3:]
        normed, scale = _normed(state, norm, epsilon)
        normed = normed.to(dtype)
        weight = torch.cat([each.to(dtype) for each in weights])
        made = normed @ weight.t()
        if biases:
            made += torch.cat([each.to(dtype) for each in biases])
        widths = [len(each) for each in weights]
        query, key, value = (each.unflatten(1, (-1, size)) for each in made.split(widths, 1))
        context.save_for_backward(state, scale, norm, normed, weight)
        context.turns, context.widths, context.biased = turns, widths, bool(biases)
        return turns.turn(query).to(dtype), turns.turn(key).to(dtype), value

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        state, scale, norm, normed, weight = context.saved_tensors
        *turned, value = gradients
        back = [context.turns.turn(each, back=True) for each in turned]
        made = torch.cat([each.flatten(1).to(weight.dtype) for each in (*back, value)], 1)
        of_state, of_norm = _norm_gradients(made @ weight, state, scale, norm)
        of_weights = (made.t() @ normed).float().split(context.widths)
        of_biases = made.float().sum(0).split(context.widths) if context.biased else ()
        return of_state, of_norm, None, None, None, None, *of_weights, *of_biases


def _out_of(state: Tensor, found: Tensor, layer: Any, dtype: torch.dtype) -> Tensor:
    """States after a layer [tokens, width], from those before and its attention's output."""
    norm, mlp = layer.post_attention_layernorm, layer.mlp
    matrices = (layer.self_attn.o_proj, mlp.gate_proj, mlp.up_proj, mlp.down_proj)
    weights = (each.weight for each in matrices)
    after: Tensor = _OutOf.apply(state, found, norm.weight, norm.variance_epsilon, dtype, *weights)  # type: ignore[no-untyped-call]
    return after


class _OutOf(torch.autograd.Function):
    """A layer from its attention on."""

    @staticmethod
    def forward(
        context: Any,
        state: Tensor,
        found: Tensor,
        norm: Tensor,
        epsilon: float,
        dtype: torch.dtype,
        *matrices: Tensor,
    ) -> Tensor:
        out, gate, up, down = (each.to(dtype) for each in matrices)
        middle = state + found @ out.t()
        normed, scale = _normed(middle, norm, epsilon)
        normed, both = normed.to(dtype), torch.cat([gate, up])
        made = normed @ both.t()
        gates, ups = made.chunk(2, 1)
        context.save_for_backward(found, middle, scale, norm, normed, made, out, both, down)
        return middle + silu(gates).mul_(ups) @ down.t()

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        found, middle, scale, norm, normed, made, out, both, down = context.saved_tensors
        (gates, ups), given = made.chunk(2, 1), gradient.to(made.dtype)
        of_active, active = given @ down, silu(gates)
        of_made = torch.empty_like(made)
        of_gates, of_ups = of_made.chunk(2, 1)
        torch.mul(of_active, active, out=of_ups)
        of_gates.copy_(_silu_backward(of_active.mul_(ups), gates))
        of_down = given.t() @ active.mul_(ups)
        of_middle, of_norm = _norm_gradients(of_made @ both, middle, scale, norm)
        of_middle += gradient
        given = of_middle.to(made.dtype)
        of_gate, of_up = (of_made.t() @ normed).float().chunk(2)
        of_matrices = ((given.t() @ found).float(), of_gate, of_up, of_down.float())
        return of_middle, given @ out, of_norm, None, None, *of_matrices
