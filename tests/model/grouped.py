"""A model of two layers whose query heads share key-value heads in pairs, as Qwen2.5's do."""

from __future__ import annotations

import torch
from transformers import PreTrainedModel, Qwen2Config, Qwen2ForCausalLM


def grouped_heads(vocabulary: int) -> PreTrainedModel:
    """Such a model with random weights, the same every time."""
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=vocabulary,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        initializer_range=0.2,
        pad_token_id=0,
        attn_implementation="sdpa",
    )
    return Qwen2ForCausalLM(config).eval()


def often_ending(end: int) -> PreTrainedModel:
    """Such a model whose answers often end."""
    made = grouped_heads(vocabulary=100)
    with torch.no_grad():
        made.lm_head.weight[end] *= 3
    return made
