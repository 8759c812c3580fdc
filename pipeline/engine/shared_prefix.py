"""Attention of many completions to shared prompts.

The completions of a group share their prompt. Their stacked queries meet the prompt's keys in one
product per prompt; attention to own tokens is joined under one softmax. Nothing of the prompt is
computed or copied per completion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, DynamicCache, PreTrainedModel

from pipeline.engine.batch import pad_left, positions, sent
from pipeline.engine.halves import Halves

_NAME = "shared_prefix"
Attend = Callable[..., tuple[Tensor, None]]
_flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_flash_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward
_FEW = 256
"""Most queries of a row for which the CPU kernel's backward pass is faster in float32 than in
bfloat16, casts included: two to three times up to here, slower from about 1,000 on.
"""


@dataclass(frozen=True)
class Prefix:
    """The shared prompts of a batch.

    P = prompts, L = tokens of the longest, G = rows per prompt, N = rows, H = key-value heads, D =
    width of a head.

    Attributes:
        keys: Per layer [P, H, L, D].
        values: As ``keys``.
        bias: Minus infinity on padding [P, 1, 1, L], if there is any.
        group: G.
        places: Index of each row among P * G, prompt by prompt [N].
    """

    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]
    bias: Tensor | None
    group: int
    places: Tensor
    _joint: dict[tuple[int, torch.dtype], Tensor] = field(default_factory=dict, init=False)

    @classmethod
    def of(
        cls,
        keys: Sequence[Tensor],
        values: Sequence[Tensor],
        lengths: Sequence[int],
        group: int,
        *,
        left: bool = False,
    ) -> Prefix:
        """The prefix of P * ``group`` rows.

        Args:
            keys: Per layer [P, H, L, D].
            lengths: Real tokens of each prompt.
            left: Padding precedes the tokens.
        """
        longest, device, bias = values[0].shape[2], values[0].device, None
        if min(lengths) < longest:
            padding = sent([[longest - length] for length in lengths], device)
            places = torch.arange(longest, device=device)
            hidden = places < padding if left else places >= longest - padding
            nothing = torch.zeros_like(hidden, dtype=values[0].dtype)
            bias = nothing.masked_fill(hidden, -torch.inf)[:, None, None]
        places = torch.arange(len(lengths) * group, device=device)
        return cls(tuple(keys), tuple(values), bias, group, places)

    def keep(self, rows: Tensor) -> Prefix:
        return replace(self, places=self.places[rows])

    def stack(self, rows: Tensor) -> Tensor:
        """Lay rows [N, H, R, D] out by prompt [P, H, G * R, D]; free slots hold zeros.

        Dropped rows leave free slots: every prompt keeps G, and one batched product serves all.
        """
        prompts, (_, heads, repeats, size) = len(self.values[0]), rows.shape
        full = rows
        if len(rows) < prompts * self.group:
            full = rows.new_zeros(prompts * self.group, heads, repeats, size)
            full = full.index_copy(0, self.places, rows)
        return full.view(prompts, self.group, heads, repeats, size).transpose(1, 2).flatten(2, 3)

    def unstack(self, laid: Tensor) -> Tensor:
        """Undo :meth:`stack`: [P, H, G * R, ...] to [N, H, R, ...]."""
        rows: Tensor = laid.unflatten(2, (self.group, -1)).transpose(1, 2).flatten(0, 1)
        return rows if len(rows) == len(self.places) else rows.index_select(0, self.places)

    def joint_bias(self, length: int, dtype: torch.dtype) -> Tensor:
        """The joint mask of rows of ``length`` tokens [N or 1, 1, T, L + T].

        It masks padding and later own tokens. All layers share one tensor, as it is kept for the
        backward pass.
        """
        if (length, dtype) not in self._joint:
            self._joint[length, dtype] = self._made_joint(length, dtype)
        return self._joint[length, dtype]

    def _made_joint(self, length: int, dtype: torch.dtype) -> Tensor:
        far = self.values[0].shape[2]
        rows = 1 if self.bias is None else len(self.places)
        width = far + length
        # CUDA's kernels make a copy of what does not lie in steps of eight.
        room = -(-width // 8) * 8
        bias = torch.zeros(rows, 1, length, room, dtype=dtype, device=self.places.device)
        if self.bias is not None:
            bias[..., :far] = self.bias[self.places // self.group]
        later = torch.ones(length, length, dtype=torch.bool, device=bias.device).triu(1)
        bias[..., far:width].masked_fill_(later, -torch.inf)
        return bias[..., :width]


def encode_prompts(
    model: PreTrainedModel, prompts: Sequence[Sequence[int]]
) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """Encode P prompts, none empty, by the model's own modules, with padding before them.

    Returns:
        The states of each prompt's last token [P, width], inputs of the model's head, and keys and
        values, per layer [P, key-value heads, tokens of the longest, width of a head].
    """
    ids, mask = pad_left(prompts, int(model.config.pad_token_id or 0), model.device)
    cache = DynamicCache(config=model.config)
    seen = visible(model, mask) if len(set(map(len, prompts))) > 1 else None
    with _alone(model, seen):
        states = Halves.of(model).body(
            input_ids=ids,
            attention_mask=seen,
            position_ids=positions(mask),
            past_key_values=cache,
            use_cache=True,
            last=1,
        )[:, -1]
    keys, values = held(cache)
    return states, keys, values


def halves_on_cpu(model: PreTrainedModel) -> bool:
    """The model runs on a CPU under autocast to bfloat16, with PyTorch's attention."""
    half = torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.bfloat16
    return half and model.device.type == "cpu" and model.config._attn_implementation == "sdpa"


def _alone(model: PreTrainedModel, seen: Tensor | None) -> AbstractContextManager[None]:
    """Use :class:`_Flash` where a CPU needs bfloat16 gradients."""
    if not (halves_on_cpu(model) and torch.is_grad_enabled()):
        return nullcontext()
    bias = None
    if seen is not None:
        bias = torch.zeros(seen.shape, dtype=torch.bfloat16).masked_fill(~seen, -torch.inf)
    return attending(model, partial(_attend_alone, bias=bias))


def _attend_alone(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float,
    bias: Tensor | None,
    **_: object,
) -> tuple[Tensor, None]:
    """Attend to own tokens; ``bias`` [N, 1, T, T] is added to scores, else causality."""
    # Under autocast the rotation and the cache leave them in float32.
    query, key, value = (tensor.bfloat16() for tensor in (query, key, value))
    output = attend_alone(query, key, value, bias, scaling)
    return output.transpose(1, 2).contiguous(), None


def held(cache: DynamicCache) -> tuple[list[Tensor], list[Tensor]]:
    """Keys and values of each layer in the number format of the passes.

    Under autocast, rotation and cache leave them in float32: twice the memory, and a cast per
    token.
    """
    layers, dtype = cache.layers, cache.layers[0].keys.dtype
    kind = layers[0].keys.device.type
    if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
        dtype = torch.get_autocast_dtype(kind)
    return [layer.keys.to(dtype) for layer in layers], [layer.values.to(dtype) for layer in layers]


def visible(model: PreTrainedModel, mask: Tensor) -> Tensor:
    """The attention mask for the mask of real tokens [P, L].

    transformers would build the same, but synchronise with an accelerator to see if it masks any.
    """
    if model.config._attn_implementation != "sdpa":
        return mask.long()
    causal = torch.ones(mask.shape[1:] * 2, dtype=torch.bool, device=mask.device).tril()
    return causal & mask[:, None, None]


@contextmanager
def attending(model: PreTrainedModel, attend: Attend | None = None) -> Iterator[None]:
    """Let the model's layers attend to the ``prefix`` passed to its forward, or by ``attend``."""
    AttentionInterface.register(_NAME, attend or _attention)
    before = model.config._attn_implementation
    model.set_attn_implementation(_NAME)
    try:
        yield
    finally:
        model.set_attn_implementation(before)


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float,
    prefix: Prefix,
    **_: object,
) -> tuple[Tensor, None]:
    """Attend to the prefix and, causally, to own tokens, under one softmax.

    Args:
        module: The attention layer; its index selects keys and values of the prefix.
        query: [N, heads, T, D].
        key: [N, H, T, D]; padding follows the tokens.
        attention_mask: Unused: causality masks the padding.
    """
    layer = int(module.layer_idx)  # type: ignore[arg-type]
    output = attend_both(query, key, value, prefix, layer, scaling)
    return output.transpose(1, 2).contiguous(), None


def attend_both(
    query: Tensor, key: Tensor, value: Tensor, prefix: Prefix, layer: int, scaling: float
) -> Tensor:
    """Attend from own tokens [N, heads, T, D] to themselves and a layer's prefix."""
    # Under autocast the rotation leaves queries and keys in float32.
    query, key = query.to(value.dtype), key.to(value.dtype)
    prompt = prefix.keys[layer].to(value.dtype), prefix.values[layer].to(value.dtype)
    attend = joined if query.device.type == "cpu" else repeated
    return attend(query, key, value, *prompt, prefix, scaling)


def attend_alone(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, scale: float
) -> Tensor:
    """Attend from rows [N, heads, T, D] to their own tokens by CPU kernels.

    ``bias`` [N, 1, T, T] is added to scores; the default is causal.
    """
    own = (for_all_heads(tensor, query.shape[1]) for tensor in (key, value))
    output: Tensor = _Flash.apply(query, *own, bias, scale)  # type: ignore[no-untyped-call]
    return output


def by_key_head(query: Tensor, heads: int) -> Tensor:
    """Group query heads by key-value head [N, H, R * T, D].

    They meet the same keys, so to the prompt they are further tokens of one head.
    """
    lined: Tensor = query.unflatten(1, (heads, -1))
    return lined.flatten(2, 3)


def for_all_heads(tensor: Tensor, heads: int) -> Tensor:
    """Repeat keys or values [N, H, T, D] for the query heads that share them [N, heads, T, D]."""
    return tensor.repeat_interleave(heads // tensor.shape[1], 1)


def joined(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    keys: Tensor,
    values: Tensor,
    prefix: Prefix,
    scaling: float,
) -> Tensor:
    """Attend from own tokens [N, heads, T, D] by CPU kernels, without a copy of the prompt."""
    # Of the row's own tokens the kernels want as many key-value heads as query heads.
    own = (for_all_heads(tensor, query.shape[1]) for tensor in (key, value))
    output: Tensor = _Joined.apply(query, *own, keys, values, prefix, scaling)  # type: ignore[no-untyped-call]
    return output


def repeated(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    keys: Tensor,
    values: Tensor,
    prefix: Prefix,
    scaling: float,
) -> Tensor:
    """Attend from own tokens [N, heads, T, D] with a copy of the prompt per row.

    For accelerators: :func:`joined` calls CPU kernels, and PyTorch's portable attention returns no
    log-sum-exp.
    """
    rows = prefix.places // prefix.group
    # Given a mask and fewer key-value heads, PyTorch would take its slowest kernel.
    joint_keys, joint_values = (
        for_all_heads(torch.cat(pair, 2), query.shape[1])
        for pair in ((keys[rows], key), (values[rows], value))
    )
    bias = prefix.joint_bias(query.shape[2], query.dtype)
    return nn.functional.scaled_dot_product_attention(
        query, joint_keys, joint_values, attn_mask=bias, scale=scaling
    )


class _Joined(torch.autograd.Function):
    """Flash attention over prompt and own tokens, joined by their log-sum-exps.

    Joined output and log-sum-exp suffice for each part's backward kernel (Liu et al. 2023, "Ring
    Attention", arXiv 2310.01889, appendix A).
    """

    @staticmethod
    def forward(
        context: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        keys: Tensor,
        values: Tensor,
        prefix: Prefix,
        scale: float,
    ) -> Tensor:
        """[N, heads, T, D]; key and value have all heads."""
        heads = keys.shape[1]
        stacked, bias = prefix.stack(by_key_head(query, heads)), prefix.bias
        # Two softmaxes, each over its own keys: their sums give the share of each in the joint one.
        far, far_sum = _flash(stacked, keys, values, 0.0, False, attn_mask=bias, scale=scale)
        near, near_sum = _flash(query, key, value, 0.0, True, scale=scale)
        far = prefix.unstack(far).reshape_as(near)
        far_sum = prefix.unstack(far_sum).reshape_as(near_sum)
        total = torch.logaddexp(far_sum, near_sum)
        share = (far_sum - total).exp().unsqueeze(-1).to(query.dtype)
        output: Tensor = near.lerp(far, share)
        context.save_for_backward(query, key, value, keys, values, stacked, output, total)
        context.prefix, context.scale = prefix, scale
        return output

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Any, ...]:
        query, key, value, keys, values, stacked, output, total = context.saved_tensors
        prefix, heads, scale = context.prefix, keys.shape[1], {"scale": context.scale}
        # Given the joint output and sum in place of its own, the kernel takes the weights of the
        # joint softmax for its keys, and so returns this part's share of the gradient.
        lay = [prefix.stack(by_key_head(tensor, heads)) for tensor in (gradient, output)]
        sums = prefix.stack(by_key_head(total.unsqueeze(-1), heads)).squeeze(-1)
        far, of_keys, of_values = _shares(
            lay[0], stacked, keys, values, lay[1], sums, 0.0, False, attn_mask=prefix.bias, **scale
        )
        near, of_key, of_value = _shares(
            gradient.contiguous(), query, key, value, output, total, 0.0, True, **scale
        )
        of_query = prefix.unstack(far).reshape_as(near) + near
        return of_query, of_key, of_value, of_keys, of_values, None, None


class _Flash(torch.autograd.Function):
    """Flash attention of rows to their own tokens, with the backward pass of :func:`_shares`."""

    @staticmethod
    def forward(
        context: Any, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, scale: float
    ) -> Tensor:
        """[N, heads, T, D]; key and value have all heads."""
        output: Tensor
        output, total = _flash(query, key, value, 0.0, bias is None, attn_mask=bias, scale=scale)
        context.save_for_backward(query, key, value, output, total, bias)
        context.scale = scale
        return output

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Any, ...]:
        query, key, value, output, total, bias = context.saved_tensors
        tensors = (gradient.contiguous(), query, key, value, output, total)
        causal, how = bias is None, {"attn_mask": bias, "scale": context.scale}
        return *_shares(*tensors, 0.0, causal, **how), None, None


def _shares(
    gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    *others: Any,
    attn_mask: Tensor | None = None,
    scale: float,
) -> Sequence[Tensor]:
    """Gradients of query, key and value by the kernel, in the faster number format."""
    given, dtype = [gradient, query, key, value, output], query.dtype
    if dtype == torch.bfloat16 and query.shape[2] <= _FEW:
        given = [tensor.float() for tensor in given]
        attn_mask = None if attn_mask is None else attn_mask.float()
    found = _flash_backward(*given, *others, attn_mask=attn_mask, scale=scale)
    return [each.to(dtype) for each in found]
