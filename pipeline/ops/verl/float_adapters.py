"""Lets verl train LoRA's adapters in float32 beside weights in bfloat16.

verl 0.9.1 brings both into one format, as FSDP 1 wants it; FSDP 2 asks that of trained weights
alone. In bfloat16 a step of a usual learning rate is lost in rounding. Ranks import this module
(:mod:`pipeline.ops.verl.ranks`).
"""

from __future__ import annotations

from typing import Any

from torch import nn
from verl.workers.engine.fsdp.transformer_impl import FSDPEngine

_build = FSDPEngine._build_lora_module


def build_lora_module(engine: Any, module: nn.Module) -> nn.Module:
    """Wrap a model with adapters in float32; takes the place of verl's method."""
    adapted: nn.Module = _build(engine, module)
    for parameter in adapted.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    return adapted


FSDPEngine._build_lora_module = build_lora_module
