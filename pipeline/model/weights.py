"""Models as folders in Hugging Face layout."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

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
from pipeline.formats.files import read_json, write_json

WEIGHTS = "model.safetensors"
_GENERATION = "generation_config.json"

EndIds = tuple[int, ...]
"""Tokens that end a text; training uses the first."""


def save_model(
    folder: Path,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    weights: dict[str, torch.Tensor] | None = None,
) -> None:
    """Write a model and its tokenizer in Hugging Face layout, with ``weights`` if given."""
    folder.mkdir(parents=True, exist_ok=True)
    model.config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    write_tensors(folder / WEIGHTS, weights or weights_of(model))


def copy_generation(base: Path, folder: Path) -> None:
    """Copy a base model's generation settings, if any, to a trained model.

    They name tokens that end a text beside the tokenizer's own (Qwen2.5 has two in all). vLLM reads
    them, and base and trained model must end alike.
    """
    if (base / _GENERATION).is_file():
        shutil.copyfile(base / _GENERATION, folder / _GENERATION)


def end_ids(tokenizer: PreTrainedTokenizerBase, named: int | Sequence[int] | None) -> EndIds:
    """The tokens that end a text: the tokenizer's own, and ``named``, the generation settings'."""
    others = [named] if isinstance(named, int) else named or ()
    return tuple(dict.fromkeys([int(tokenizer.eos_token_id), *others]))  # type: ignore[arg-type]


def end_ids_of(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> EndIds:
    return end_ids(tokenizer, model.generation_config.eos_token_id)


def end_ids_in(folder: Path, tokenizer: PreTrainedTokenizerBase) -> EndIds:
    """The tokens that end a text of a stored model, as transformers and vLLM read them."""
    generation = folder / _GENERATION
    said = read_json(generation if generation.is_file() else folder / "config.json")
    return end_ids(tokenizer, said.get("eos_token_id"))


def write_end_ids(folder: Path, ids: EndIds) -> None:
    write_json(folder / _GENERATION, {"eos_token_id": list(ids)})


def write_tensors(path: Path, tensors: dict[str, torch.Tensor]) -> None:
    """Write tensors as safetensors, with permissions by the umask."""
    path.write_bytes(b"")
    mode = path.stat().st_mode
    try:
        save_file(tensors, path, metadata={"format": "pt"})  # for this user alone
        path.chmod(mode)
    except SafetensorError as error:  # it hides the system's error number in its message
        if found := re.search(r"\(os error (\d+)\)", str(error)):
            raise OSError(int(found[1]), str(error), str(path)) from error
        raise


def weights_of(model: PreTrainedModel) -> dict[str, torch.Tensor]:
    """A copy of the weights without the tied copy of the embedding."""
    tied = {"lm_head.weight"} if model.config.tie_word_embeddings else set()
    return {
        name: tensor.detach().cpu().contiguous().clone()
        for name, tensor in model.state_dict().items()
        if name not in tied
    }


def load_weights(model: PreTrainedModel, weights: dict[str, torch.Tensor]) -> None:
    missing, unexpected = model.load_state_dict(weights, strict=False)
    allowed = {"lm_head.weight"} if model.config.tie_word_embeddings else set()
    if unexpected or set(missing) - allowed:
        raise ValueError(f"weights do not fit: missing {missing}, unexpected {unexpected}")


def load_model(
    folder: Path, plain_below: int = 0, dtype: torch.dtype | Literal["auto"] = torch.float32
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load a model for evaluation, with its tokenizer.

    Args:
        plain_below: See :func:`pipeline.engine.linear.use_onednn`.
        dtype: Number format; ``auto`` for the stored one.

    Raises:
        UserError: If tokenizer and model have different vocabularies, or the local passes do not
            support its attention.
    """
    disable_progress_bar()  # it would fill logs, and loading from the disk takes seconds
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    try:
        model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, local_files_only=True, attn_implementation="sdpa"
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
