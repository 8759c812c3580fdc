"""Tiny models: their tokenizer, and what their seed decides."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from pipeline.config.models import TinySize
from pipeline.model.tiny import TAGS, make_model, make_tokenizer
from pipeline.model.weights import save_model
from pipeline.tom.generate.names import NAMES

SMALL = TinySize(hidden=32, layers=2, heads=2)
TEXTS = [f" {name} moved it to the {thing}." for name in NAMES.agents for thing in NAMES.objects]


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerBase:
    return make_tokenizer(TEXTS, 1024)


def test_tokenizer_round_trips_any_text(tokenizer: PreTrainedTokenizerBase) -> None:
    for text in (
        "Zoe moved it to the red_box.",
        "naïve – 42 + 7\n\tok",
        "<answer> red_box</answer>",
    ):
        assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text


def test_names_and_tags_are_single_tokens(tokenizer: PreTrainedTokenizerBase) -> None:
    for word in (*TAGS, " cucumber", " Abigail"):
        assert len(tokenizer.encode(word, add_special_tokens=False)) == 1, word


def test_a_saved_tokenizer_reads_as_the_one_that_was_trained(
    tokenizer: PreTrainedTokenizerBase, tmp_path: Path
) -> None:
    """As AutoTokenizer loads it, which picks the class by the model's architecture."""
    save_model(tmp_path, make_model(SMALL, tokenizer, context=64, seed=0), tokenizer)
    again = AutoTokenizer.from_pretrained(tmp_path)
    for text in (*TEXTS[:20], "<think> 12 + 7 = 19.</think><answer> red_box</answer>\n\nnaïve"):
        assert again.encode(text) == tokenizer.encode(text), text


def test_tokenizer_and_weights_depend_on_the_seed_alone(tokenizer: PreTrainedTokenizerBase) -> None:
    assert make_tokenizer(TEXTS, 1024).get_vocab() == tokenizer.get_vocab()
    torch.manual_seed(123)
    one = make_model(SMALL, tokenizer, context=128, seed=1).state_dict()
    torch.manual_seed(456)
    two = make_model(SMALL, tokenizer, context=128, seed=1).state_dict()
    other = make_model(SMALL, tokenizer, context=128, seed=2).state_dict()
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)
