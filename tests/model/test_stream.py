"""Decoding in places that are filled again: the same completions as batch by batch."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

from pipeline.engine import stream
from pipeline.engine.decode import Completion, choose, generate
from pipeline.engine.key_values import KeyValues, OwnKeyValues
from pipeline.engine.passes import ModulePasses
from pipeline.engine.sampling import Sampling
from pipeline.engine.stream import complete
from pipeline.engine.written_out import WrittenOut
from tests.model.grouped import often_ending

END = 3
PROMPTS = [[5 + (7 * n + i) % 90 for i in range(1 + n % 5)] for n in range(40)]
KEYS = [(9, n) for n in range(len(PROMPTS))]


@pytest.fixture(scope="module")
def model() -> PreTrainedModel:
    return often_ending(END)


def completed(model: PreTrainedModel, sampling: Sampling, places: int) -> list[Completion]:
    found: dict[int, Completion] = {}

    def hear(prompt: int, completion: Completion) -> None:
        assert prompt not in found
        found[prompt] = completion

    complete(model, PROMPTS, KEYS, sampling, {END}, places, hear)
    return [found[n] for n in range(len(PROMPTS))]


@pytest.mark.parametrize(
    "sampling", [Sampling(24, 0.0), Sampling(24), Sampling(24, 0.7, 0.8), Sampling(1)], ids=str
)
@pytest.mark.parametrize("places", [1, 7, 100])
@pytest.mark.parametrize("passes", [ModulePasses, WrittenOut])
def test_the_same_completions_as_in_one_batch(
    model: PreTrainedModel,
    sampling: Sampling,
    places: int,
    passes: type[ModulePasses | WrittenOut],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream, "_ENCODED_AT_ONCE", 3)
    monkeypatch.setattr(stream, "passes_of", passes)
    expected = generate(model, PROMPTS, KEYS, sampling, {END})
    assert completed(model, sampling, places) == expected
    if sampling.max_new_tokens > 1:  # some end by themselves, at various lengths, and some do not
        assert {each.finished for each in expected} == {True, False}
        assert len({len(each.tokens) for each in expected}) > 3


def test_places_are_filled_again_instead_of_waiting(
    model: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[int] = []
    step = WrittenOut.step

    def counted(passes: WrittenOut, tokens: Tensor, lengths: Tensor, memory: KeyValues) -> Tensor:
        steps.append(len(tokens))
        return step(passes, tokens, lengths, memory)

    monkeypatch.setattr(WrittenOut, "step", counted)
    sampling, places = Sampling(24), 8
    tokens = sum(len(each.tokens) for each in completed(model, sampling, places))
    longest = sum(
        places
        * max(
            len(c.tokens)
            for c in generate(model, PROMPTS[s : s + places], KEYS[s : s + places], sampling, {END})
        )
        for s in range(0, len(PROMPTS), places)
    )
    assert max(steps) <= places
    assert tokens - len(PROMPTS) <= sum(steps) < 0.8 * longest, "prompts give the first tokens"


def test_nothing_to_complete(model: PreTrainedModel) -> None:
    complete(model, [], [], Sampling(4), END, 8, lambda *_: pytest.fail("nothing was asked"))
    assert model.config._attn_implementation == "sdpa"


def test_rows_lie_without_gaps_whatever_was_in_them_before(
    model: PreTrainedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    widths: list[int] = []
    go_to = OwnKeyValues.go_to

    def watched(memory: OwnKeyValues, lengths: Tensor, used: int) -> None:
        go_to(memory, lengths, used)
        held = [*memory.keys, *memory.values]
        assert all(tensor.is_contiguous() and tensor.shape[2] >= used for tensor in held)
        widths.append(memory.width)

    monkeypatch.setattr(OwnKeyValues, "go_to", watched)
    prompts = [[5 + n % 90 for n in range(length)] for length in (200, 3, 90, 4, 5, 200, 2)]
    keys = [(9, n) for n in range(len(prompts))]
    sampling, found = Sampling(40), dict[int, Completion]()
    complete(model, prompts, keys, sampling, (), 2, found.__setitem__)
    alone = [
        generate(model, [prompt], [key], sampling, ())[0]
        for prompt, key in zip(prompts, keys, strict=True)
    ]
    assert [found[n] for n in range(len(prompts))] == alone
    assert min(widths) < 60 and max(widths) > 200  # as long as the rows that are there


@pytest.mark.parametrize("count", [10_000, 10_240])
@pytest.mark.parametrize("top_p", [1.0, 0.3])
def test_a_large_vocabulary_is_drawn_from_as_by_one_running_sum(count: int, top_p: float) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(400, count, generator=generator)
    draws = torch.rand(400, dtype=torch.float64, generator=generator)
    draws[:2] = torch.tensor([0.0, 1 - 2.0**-53])
    found = choose(logits, Sampling(1, 1.0, top_p), draws)
    weights = logits.softmax(-1)
    if top_p < 1:
        ordered, order = weights.sort(-1, descending=True)
        weights = weights.scatter(-1, order, ordered * (ordered.cumsum(-1) - ordered < top_p))
    assert (weights.gather(-1, found.unsqueeze(-1)) > 0).all()
    ladder = weights.double().cumsum(-1)
    before, after = (ladder.gather(-1, (found - n).clamp_min(0).unsqueeze(-1)) for n in (1, 0))
    target = draws.unsqueeze(-1) * ladder[:, -1:]
    before = before * (found > 0).unsqueeze(-1)
    assert ((before - 1e-6 <= target) & (target <= after + 1e-6)).all()
