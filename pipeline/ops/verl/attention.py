"""Which attention verl computes with: FlashAttention where it is installed, else torch's own.

FlashAttention takes sequences packed one after the other. It exists on GPU in half precision only,
and PyPI has no wheel of it, so that the job looks for it where it runs. For torch's own verl pads
the sequences of a micro-batch to the longest of them (verl 0.9.1,
``workers/engine/fsdp/transformer_impl.py``, ``prepare_model_inputs``).
"""

from __future__ import annotations

import importlib.util

from pipeline.config.training import Train


def flash_is_installed() -> bool:
    """Whether the environment of this process has FlashAttention."""
    return importlib.util.find_spec("flash_attn") is not None


def packs(recipe: Train, *, flash: bool) -> bool:
    """Whether sequences are packed, and not padded.

    Args:
        recipe: The training recipe.
        flash: Whether FlashAttention is installed where it trains.
    """
    return flash and recipe.precision != "float32"


def attention(model: str, *, packed: bool) -> dict[str, bool | str]:
    """The settings of a section that describes a model."""
    return {
        f"{model}.use_remove_padding": packed,
        f"+{model}.override_config.attn_implementation": "flash_attention_2" if packed else "sdpa",
    }
