"""Models in GGUF files, which transformers dequantises to single precision."""

from __future__ import annotations

from pathlib import Path

import torch
from gguf import GGUFReader
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils.logging import disable_progress_bar

from pipeline.base.errors import UserError
from pipeline.model.weights import save_model


def convert(file: Path, folder: Path) -> str:
    """Write the model of a GGUF file in Hugging Face layout.

    Returns:
        A note on the original number format and the licence in the file.

    Raises:
        UserError: If it is no GGUF file, or no supported causal decoder.
    """
    note = _note(file)
    disable_progress_bar()  # it would fill logs
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
    return note


def _note(file: Path) -> str:
    try:
        reader = GGUFReader(file)
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: not a GGUF file: {error}") from error
    formats = ", ".join(sorted({tensor.tensor_type.name for tensor in reader.tensors}))
    licence = reader.get_field("general.license")
    said = "no licence" if licence is None else f"the licence {licence.contents()}"
    return (
        f"de-quantised by transformers from GGUF ({formats}) to single precision; "
        f"the file names {said}"
    )
