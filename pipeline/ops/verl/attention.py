"""Which attention verl computes with: FlashAttention where it is installed, else torch's own.

FlashAttention takes sequences packed one after the other. It exists on GPU in half precision only,
and PyPI has no wheel of it, so that the job looks for it where it runs. For torch's own verl pads
the sequences of a micro-batch to the longest of them (verl 0.9.1,
``workers/engine/fsdp/transformer_impl.py``, ``prepare_model_inputs``).
"""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Mapping

from pipeline.config.training import Train
from pipeline.ops.cluster.head import find_engine_python
from pipeline.ops.cluster.job import address_variable


def flash_is_installed() -> bool:
    """Whether the environment of this process has FlashAttention."""
    return importlib.util.find_spec("flash_attn") is not None


def flash_of_jobs(environment: Mapping[str, str]) -> bool:
    """Whether jobs will find FlashAttention, as far as it can be told before one runs.

    That of the engine environment is looked for there. Nodes of a cluster are taken to have what
    the trainer image has, which is none.

    Raises:
        UserError: If ``TOMRL_ENGINE_PYTHON`` names no interpreter.
    """
    if address_variable(environment):
        return False
    python = find_engine_python(environment)
    if python is None:
        return False
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('flash_attn') is None)"
    return subprocess.run([python, "-c", look], check=False).returncode == 0


def described(recipe: Train, *, flash: bool) -> str:
    """What attention computes with, and how sequences lie, in words."""
    if packs(recipe, flash=flash):
        return "attention: flash_attention_2, sequences packed"
    found = "attention: sdpa, sequences padded to the longest of their micro-batch"
    lacks = packs(recipe, flash=True) and not flash
    return f"{found}, as flash_attn is not installed" if lacks else found


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
