"""LoRA's adapters in verl's checkpoints, added up with the weights that they belong to.

verl wraps the model with ``peft``, which gives each adapted layer a frozen ``base_layer`` and two
thin matrices beside it; rank and scale stand in ``lora_train_meta.json``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from torch import Tensor

from pipeline.formats.files import read_json

_PREFIX, _LAYER = "base_model.model.", ".base_layer"
_DOWN, _UP = ".lora_A.default.weight", ".lora_B.default.weight"
_META = "lora_train_meta.json"


def is_adapted(weights: Iterable[str]) -> bool:
    return any(name.endswith(_UP) for name in weights)


def without_adapters(weights: dict[str, Tensor], actor: Path) -> dict[str, Tensor]:
    """The weights of a plain model: W + (alpha / rank) B A where there are adapters.

    Args:
        weights: Merged from all shards; returned as they are where nothing was adapted.
        actor: The folder of the policy's shards.
    """
    if not is_adapted(weights):
        return weights
    meta = read_json(actor / _META)
    scale = meta["lora_alpha"] / meta["r"]
    plain = {}
    for name, tensor in weights.items():
        if name.endswith((_DOWN, _UP)):
            continue
        layer, _, kind = name.rpartition(f"{_LAYER}.")
        if layer and kind == "weight":
            change = weights[layer + _UP].float() @ weights[layer + _DOWN].float()
            tensor = (tensor.float() + scale * change).to(tensor.dtype)
        plain[name.removeprefix(_PREFIX).replace(f"{_LAYER}.", ".")] = tensor
    return plain
