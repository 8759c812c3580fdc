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

_MOST_LEFT = 1e-3  # of a difference: rounding of the sums takes a part


def write_adapter(
    folder: Path, base: Path, trained: Path, lora: Lora, named: str, precision: str = "float32"
) -> None:
    """Write an adapter that turns a base model, which it calls ``named``, into a trained one.

    Models are folders in Hugging Face layout; ``precision`` is the number format in which the
    training held the base model's linear layers. It is a UserError if peft is missing, or the
    models differ in more than adapters of that rank.
    """
    try:
        from peft import LoraConfig
    except ImportError:
        raise UserError("adapters need peft; install it with: pip install peft") from None
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(base))
    before, adapting = _tensors(base), {f"{name}.weight" for name, _ in adapted(model)}
    tensors, layers = {}, []
    for name, tensor in _tensors(trained).items():
        after, start = tensor.float(), before[name].float()
        held = start.to(getattr(torch, precision)).float()
        if name in adapting or not any(torch.equal(after, each) for each in (start, held)):
            layers.append(layer := name.removesuffix(".weight"))
            for part, thin in zip("AB", _thin(after - held, lora, name), strict=True):
                tensors[f"base_model.model.{layer}.lora_{part}.weight"] = thin
    LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        target_modules=layers,
        task_type="CAUSAL_LM",
        base_model_name_or_path=named,
        inference_mode=True,
    ).save_pretrained(str(folder))
    write_tensors(folder / "adapter_model.safetensors", tensors)


def _thin(change: Tensor, lora: Lora, name: str) -> tuple[Tensor, Tensor]:
    """A [rank, in] and B [out, rank] with (alpha / rank) B A = ``change`` [out, in]."""
    left, values, right = torch.linalg.svd(change, full_matrices=False)
    sums = left[:, : lora.rank] * values[: lora.rank]
    down, whole = right[: lora.rank], change.norm()
    rest = (change - sums @ down).norm()
    if rest > _MOST_LEFT * whole:
        raise UserError(
            f"{name} differs from the base model in more than an adapter of rank {lora.rank}: "
            f"{rest / whole:.1%} is left; the weights are not of this training"
        )
    return down.contiguous(), (sums * lora.rank / lora.alpha).contiguous()


def _tensors(folder: Path) -> dict[str, Tensor]:
    files = sorted(folder.glob("*.safetensors"))
    return {name: tensor for file in files for name, tensor in load_file(file).items()}
