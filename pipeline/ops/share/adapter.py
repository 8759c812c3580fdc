"""A PEFT adapter of a model that was trained by LoRA, from its weights and those it began with.

What LoRA adds to a weight is a matrix of its rank, so the singular value decomposition of the
difference gives two thin matrices with the same product, however the trainer kept its own.
"""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM

from pipeline.base.errors import UserError
from pipeline.config.training import Lora
from pipeline.model.weights import write_tensors
from pipeline.train.lora import adapted

_MOST_LEFT = 1e-3
"""Share of a difference that may be left unexplained: rounding of the sums takes a part."""


def write_adapter(
    folder: Path, base: Path, trained: Path, lora: Lora, named: str, precision: str = "float32"
) -> None:
    """Write an adapter that turns a base model into a trained one.

    Args:
        folder: Receives ``adapter_config.json`` and ``adapter_model.safetensors``.
        base: The model that the training began with, in Hugging Face layout.
        trained: The trained model.
        lora: Rank and scale of the training.
        named: What the adapter calls the base model.
        precision: Number format in which the training held the base model's linear layers.

    Raises:
        UserError: If peft is missing, or the models differ in more than adapters of that rank.
    """
    try:
        from peft import LoraConfig
    except ImportError:
        raise UserError("adapters need peft; install it with: pip install peft") from None
    before = _tensors(base)
    scale = lora.alpha / lora.rank
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(base))
    adapting = {f"{name}.weight" for name, _ in adapted(model)}
    tensors, layers = {}, []
    for name, tensor in _tensors(trained).items():
        after, start = tensor.float(), before[name].float()
        held = start.to(getattr(torch, precision)).float()
        if name not in adapting and (torch.equal(after, start) or torch.equal(after, held)):
            continue
        layer = name.removesuffix(".weight")
        down, up = _thin(after - held, lora.rank, scale, name)
        tensors[f"base_model.model.{layer}.lora_A.weight"] = down
        tensors[f"base_model.model.{layer}.lora_B.weight"] = up
        layers.append(layer)
    config = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        target_modules=layers,
        task_type="CAUSAL_LM",
        base_model_name_or_path=named,
        inference_mode=True,
    )
    folder.mkdir(parents=True, exist_ok=True)
    config.save_pretrained(str(folder))
    write_tensors(folder / "adapter_model.safetensors", tensors)


def _thin(change: Tensor, rank: int, scale: float, name: str) -> tuple[Tensor, Tensor]:
    """A [rank, in] and B [out, rank] with ``scale`` B A = ``change`` [out, in]."""
    left, values, right = torch.linalg.svd(change, full_matrices=False)
    up = left[:, :rank] * values[:rank] / scale
    down = right[:rank]
    rest, whole = (change - scale * up @ down).norm(), change.norm()
    if rest > _MOST_LEFT * whole:
        raise UserError(
            f"{name} differs from the base model in more than an adapter of rank {rank}: "
            f"{rest / whole:.1%} is left; the weights are not of this training"
        )
    return down.contiguous(), up.contiguous()


def _tensors(folder: Path) -> dict[str, Tensor]:
    files = sorted(folder.glob("*.safetensors"))
    return {name: tensor for file in files for name, tensor in load_file(file).items()}
