"""Integrity and safety checks of published models."""

from __future__ import annotations

import math
from pathlib import Path

from safetensors import SafetensorError, safe_open
from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, AutoConfig, AutoTokenizer

from pipeline.base.errors import UserError
from pipeline.formats.files import read_json
from pipeline.model.snapshot import INDEX

TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json")
"""Files of which a tokenizer needs one."""


def check_model(folder: Path) -> int:
    """Check a folder for one whole model and tokenizer that match; return its parameter count."""
    shapes = _tensors(folder)
    if not any((folder / name).is_file() for name in TOKENIZERS):
        raise UserError(
            f"{folder}: there is no tokenizer; a model needs {' or '.join(TOKENIZERS)} beside its "
            "weights"
        )
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{folder}: transformers cannot read this model: {error}") from error
    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING:
        raise UserError(
            f"{folder}: {config.model_type} is not a causal language model for transformers; "
            "allowed: decoders such as qwen2, qwen3, llama, gemma3_text, phi3"
        )
    rows = shapes.get("model.embed_tokens.weight", (config.vocab_size,))[0]
    if rows != config.vocab_size or len(tokenizer) > config.vocab_size:
        raise UserError(
            f"{folder}: the tokenizer has {len(tokenizer)} tokens, the configuration "
            f"{config.vocab_size}, the weights {rows}; they do not belong together"
        )
    tied = {"lm_head.weight"} if config.tie_word_embeddings else set()
    return sum(math.prod(shape) for name, shape in shapes.items() if name not in tied)


def _tensors(folder: Path) -> dict[str, tuple[int, ...]]:
    """The shape of every tensor, after comparing the files with the index."""
    shapes: dict[str, tuple[int, ...]] = {}
    places: dict[str, str] = {}
    for path in sorted(folder.glob("*.safetensors")):
        try:
            with safe_open(path, "pt") as file:
                for name in file.keys():  # noqa: SIM118
                    shapes[name] = tuple(file.get_slice(name).get_shape())
                    places[name] = path.name
        except SafetensorError as error:
            raise UserError(f"{path}: not a safetensors file: {error}") from error
    if (folder / INDEX).is_file():
        wanted = read_json(folder / INDEX).get("weight_map", {})
        if wrong := sorted(
            name for name in wanted | places if wanted.get(name) != places.get(name)
        ):
            raise UserError(
                f"{folder / INDEX}: {wrong[0]} should be in {wanted.get(wrong[0])}, found in "
                f"{places.get(wrong[0])}; the weights are not complete"
            )
    return shapes
