"""Models in GGUF files, which transformers de-quantises to single precision."""

from __future__ import annotations

from pathlib import Path

import torch
from gguf import GGUFReader
from transformers import AutoModelForCausalLM, AutoTokenizer

from pipeline.base.errors import UserError
from pipeline.model.weights import save_model


def convert(file: Path, folder: Path) -> str:
    """Write the model of a GGUF file in Hugging Face layout.

    Args:
        file: Weights, configuration, tokenizer and chat template in one.
        folder: Receives the model.

    Returns:
        What its weights were, such as ``Q4_1, F32``.

    Raises:
        UserError: If it is no GGUF file, or of an architecture that is no causal decoder here.
    """
    formats = _formats(file)
    where = {"gguf_file": file.name, "local_files_only": True}
    try:
        tokenizer = AutoTokenizer.from_pretrained(file.parent, **where)
        model = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **where)
    except (OSError, ValueError, KeyError, NotImplementedError) as error:
        raise UserError(
            f"{file}: transformers makes no causal language model of this GGUF file: {error}"
        ) from error
    tokenizer.clean_up_tokenization_spaces = False
    save_model(folder, model, tokenizer)
    return formats


def _formats(file: Path) -> str:
    try:
        reader = GGUFReader(file)
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: not a GGUF file: {error}") from error
    return ", ".join(sorted({tensor.tensor_type.name for tensor in reader.tensors}))
