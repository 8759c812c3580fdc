"""Tiny models: tokenizer, decoding, and log-probabilities with a shared prompt."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from pipeline.config.models import TinySize
from pipeline.engine.decode import Completion, generate
from pipeline.engine.logprobs import completion_states
from pipeline.engine.sampling import Sampling
from pipeline.model.tiny import TAGS, make_model, make_tokenizer
from pipeline.model.weights import save_model
from pipeline.tom.generate.names import NAMES
from pipeline.train.scoring import MicroBatch, Scoring, score

SMALL = TinySize(hidden=32, layers=2, heads=2)
TEXTS = [f" {name} moved it to the {thing}." for name in NAMES.agents for thing in NAMES.objects]


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerBase:
    return make_tokenizer(TEXTS, 1024)


@pytest.fixture(scope="module")
def model(tokenizer: PreTrainedTokenizerBase) -> PreTrainedModel:
    return make_model(SMALL, tokenizer, context=128, seed=1).eval()


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


PROMPTS = [[5, 6, 7, 8, 9], [10, 11], [12]]
COMPLETIONS = [[20, 21, 22], [30], [40, 41], [50, 51, 52, 53], [60, 61], [70]]


def _plain(model: PreTrainedModel, prompt: list[int], completion: list[int]) -> torch.Tensor:
    logits = model(torch.tensor([prompt + completion])).logits[0, len(prompt) - 1 : -1]
    chosen = torch.tensor(completion).unsqueeze(-1)
    return torch.log_softmax(logits, -1).gather(-1, chosen).squeeze(-1)


def test_shared_prompt_logprobs_equal_the_plain_computation(model: PreTrainedModel) -> None:
    completions = tuple(map(tuple, COMPLETIONS))
    batch = MicroBatch(tuple(map(tuple, PROMPTS)), completions, slice(0, len(completions)))
    found = score(model, batch, Scoring(1.0, "float32", entropy_gradient=True))
    logprobs, entropies, mask = found.logprobs, found.entropies, found.mask
    for index, completion in enumerate(COMPLETIONS):
        expected = _plain(model, PROMPTS[index // 2], completion)
        torch.testing.assert_close(
            logprobs[index, : len(completion)], expected, atol=1e-5, rtol=1e-5
        )
        assert mask[index].sum() == len(completion)
    assert (logprobs[~mask] == 0).all() and (entropies[~mask] == 0).all()


def test_one_token_completions_need_no_second_pass(model: PreTrainedModel) -> None:
    states, ids, mask = completion_states(model, [[5, 6]], [[7], [8]])
    assert states.shape[:2] == ids.shape == mask.shape == (2, 1)


def test_a_sample_depends_on_its_key_alone(model: PreTrainedModel) -> None:
    sampling = Sampling(12, temperature=1.0)
    together = generate(model, PROMPTS, [(7, i) for i in range(6)], sampling, stops={3})
    alone = generate(model, PROMPTS[1:2], [(7, 2), (7, 3)], sampling, stops={3})
    assert together[2:4] == alone
    assert generate(model, PROMPTS[1:2], [(8, 2), (8, 3)], sampling, stops={3}) != alone


def test_decoding_stops_at_the_end_token_and_says_so(model: PreTrainedModel) -> None:
    free = generate(model, [[5, 6]], [(0,)], Sampling(6, temperature=0), stops=())[0]
    end = free.tokens[2]
    stopped = generate(model, [[5, 6]], [(0,)], Sampling(6, temperature=0), stops={end})[0]
    first = free.tokens.index(end)
    assert stopped == Completion(free.tokens[: first + 1], finished=True)


def test_a_narrow_nucleus_is_greedy(model: PreTrainedModel) -> None:
    greedy = generate(model, PROMPTS, [(i,) for i in range(3)], Sampling(5, 0), stops=())
    narrow = generate(model, PROMPTS, [(i,) for i in range(3)], Sampling(5, 1.0, 1e-6), stops=())
    assert narrow == greedy
