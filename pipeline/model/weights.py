"""Models as folders in Hugging Face layout."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils.logging import disable_progress_bar

from pipeline.base.errors import UserError
from pipeline.engine.linear import use_faster_linear

WEIGHTS = "model.safetensors"
_GENERATION = "generation_config.json"


def save_model(
    folder: Path,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    weights: dict[str, torch.Tensor] | None = None,
) -> None:
    """Write a model and its tokenizer in Hugging Face layout.

    Args:
        folder: Receives the files.
        model: Gives the configuration, and the weights unless these are given.
        tokenizer: Its tokenizer.
        weights: Weights to write instead of the model's own.

    Raises:
        OSError: If there is no room.
    """
    folder.mkdir(parents=True, exist_ok=True)
    model.config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    write_tensors(folder / WEIGHTS, weights or weights_of(model))


def copy_generation(base: Path, folder: Path) -> None:
    """Give a trained model what its base model says of decoding, if that says something.

    It names tokens that end a text beside the tokenizer's own (Qwen2.5 has two in all). vLLM reads
    them, and base and trained model must end alike.
    """
    if (base / _GENERATION).is_file():
        shutil.copyfile(base / _GENERATION, folder / _GENERATION)


def write_tensors(path: Path, tensors: dict[str, torch.Tensor]) -> None:
    """Write tensors as safetensors.

    Raises:
        OSError: If there is no room.
    """
    try:
        save_file(tensors, path, metadata={"format": "pt"})
    except SafetensorError as error:  # it hides the system's error number in its message
        if found := re.search(r"\(os error (\d+)\)", str(error)):
            raise OSError(int(found[1]), str(error), str(path)) from error
        raise


def weights_of(model: PreTrainedModel) -> dict[str, torch.Tensor]:
    """Return a copy of the weights without the tied copy of the embedding."""
    tied = {"lm_head.weight"} if model.config.tie_word_embeddings else set()
    return {
        name: tensor.detach().cpu().contiguous().clone()
        for name, tensor in model.state_dict().items()
        if name not in tied
    }


def load_weights(model: PreTrainedModel, weights: dict[str, torch.Tensor]) -> None:
    """Set the weights of a model from :func:`weights_of`."""
    missing, unexpected = model.load_state_dict(weights, strict=False)
    allowed = {"lm_head.weight"} if model.config.tie_word_embeddings else set()
    if unexpected or set(missing) - allowed:
        raise ValueError(f"weights do not fit: missing {missing}, unexpected {unexpected}")


def load_model(
    folder: Path, plain_below: int = 0
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load a model in single precision, for evaluation, with its tokenizer.

    Args:
        folder: The model, in Hugging Face layout.
        plain_below: See :func:`pipeline.engine.linear.use_onednn`.

    Raises:
        UserError: If tokenizer and model have different vocabularies, or its attention is not one
            that the local passes can take the place of.
    """
    disable_progress_bar()  # it would fill logs, and loading from the disk takes seconds
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    try:
        model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, local_files_only=True, attn_implementation="sdpa"
        )
    except ValueError as error:  # layers whose attention is of another kind
        raise UserError(f"{folder}: transformers cannot load this model here: {error}") from error
    if len(tokenizer) > model.config.vocab_size:
        raise UserError(
            f"{folder}: the tokenizer has {len(tokenizer)} tokens, the model only "
            f"{model.config.vocab_size}; they do not belong together"
        )
    use_faster_linear(model, plain_below)
    model.eval()
    return model, tokenizer
