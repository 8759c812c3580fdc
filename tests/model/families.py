"""Small models of published architectures, with random weights."""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

_SHAPE: dict[str, Any] = {
    "vocab_size": 128,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
LLAMA3_TURNS = {
    "rope_type": "llama3",
    "rope_theta": 500_000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "Qwen2": ("qwen2", {}),
    "Qwen3": ("qwen3", {}),
    "Llama 3": ("llama", {"rope_parameters": LLAMA3_TURNS}),
    "SmolLM2": ("llama", {"num_attention_heads": 9, "num_key_value_heads": 3,
                          "hidden_size": 72, "tie_word_embeddings": True}),
    "Gemma 3": ("gemma3_text", {"sliding_window": 64, "layer_types": [
        "sliding_attention", "sliding_attention", "full_attention"]}),
    "Phi": ("phi", {}),
    "Phi 3": ("phi3", {}),
    "Mistral": ("mistral", {"sliding_window": None}),
}  # fmt: skip
"""Architecture, and what differs from the common shape, by the name that people use."""


def made(kind: str, *, attention: str = "sdpa", **differing: Any) -> PreTrainedModel:
    """A model of an architecture, whose every weight is random."""
    config = AutoConfig.for_model(kind, **{**_SHAPE, **differing})
    torch.manual_seed(3)
    model: PreTrainedModel = AutoModelForCausalLM.from_config(config, attn_implementation=attention)
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.add_(torch.randn_like(tensor) * 0.05)
    return model.eval()
