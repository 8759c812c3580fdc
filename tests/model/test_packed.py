"""Layers over packed tokens, and figures of logits in bfloat16, against what they stand for."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

from pipeline.engine import logprobs
from pipeline.engine.half_logits import half_figures
from pipeline.engine.logprobs import completion_states
from pipeline.engine.packed import packed_states, packs
from pipeline.train import scoring
from pipeline.train.scoring import MicroBatch, Scoring, fixed_logprobs, score
from tests.model.families import FAMILIES, made
from tests.model.grouped import grouped_heads
from tests.model.test_written_out import far, llama, shipped, smol

PROMPTS = [[7, 9, 11], [20, 3, 5, 8, 13, 21], [4]]
SEVERAL = [[30, 31], [32], [33, 34, 35, 36], [37, 38], [39], [40, 41, 42]]
SINGLE = [[30], [31], [32]]
Found = tuple[Tensor, Tensor, Tensor]


def directions(model: PreTrainedModel, found: Found) -> list[Tensor]:
    """The states of real tokens, and the gradients of something that weighs each number apart."""
    states, _, mask = found
    real = states[mask]
    weights = torch.linspace(-1, 1, real.numel()).view_as(real)
    chosen = [each for name, each in model.named_parameters() if "lm_head" not in name]
    return [real.detach(), *torch.autograd.grad((real * weights).sum(), chosen)]


@pytest.mark.parametrize("completions", [SEVERAL, SINGLE], ids=["several", "single tokens"])
@pytest.mark.parametrize("build", [shipped, far, smol, llama])
def test_states_and_gradients_are_those_of_the_modules(
    build: Callable[[], PreTrainedModel], completions: list[list[int]]
) -> None:
    model = build()
    plain = directions(model, completion_states(model, PROMPTS, completions))
    packed = directions(model, packed_states(model, PROMPTS, completions, torch.float32))
    for ours, theirs in zip(packed, plain, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4 * float(theirs.abs().max()))


def test_in_bfloat16_they_take_the_place_of_the_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    monkeypatch.setattr(logprobs, "packed_states", lambda *given: called.append(given[-1]))
    completion_states(smol(), PROMPTS, SEVERAL)
    assert called == []
    with torch.autocast("cpu", torch.bfloat16):
        completion_states(smol(), PROMPTS, SEVERAL)
    assert called == [torch.bfloat16]


def test_nothing_else_is_packed() -> None:
    kind, differing = FAMILIES["Qwen3"]
    ours, other = grouped_heads(vocabulary=100), made(kind, **differing)
    assert not packs(ours)  # in single precision
    with torch.autocast("cpu", torch.bfloat16):
        assert packs(ours) and not packs(other)
        ours.set_attn_implementation("eager")
        assert not packs(ours)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_figures_of_half_logits_are_those_of_their_softmax(
    monkeypatch: pytest.MonkeyPatch, temperature: float
) -> None:
    monkeypatch.setattr("pipeline.engine.half_logits._AT_ONCE", 120)  # three rows at a time
    generator = torch.Generator().manual_seed(0)
    logits = 4 * torch.randn(8, 40, generator=generator)
    ids, given = torch.randint(0, 40, (8,), generator=generator), torch.linspace(-1, 1, 8)
    ours, plain = (logits.bfloat16().requires_grad_() for _ in range(2))
    logprobs_, entropies = half_figures(ours, ids, temperature)
    softmax = (plain.float() / temperature).log_softmax(-1)
    expected = softmax.gather(1, ids.unsqueeze(1)).squeeze(1)
    torch.testing.assert_close(logprobs_, expected)
    torch.testing.assert_close(entropies, -(softmax.exp() * softmax).sum(-1))
    assert not entropies.requires_grad
    (logprobs_ * given).sum().backward()
    (expected * given).sum().backward()
    torch.testing.assert_close(ours.grad, plain.grad)


@pytest.mark.parametrize("entropy_gradient", [False, True])
def test_a_policy_that_has_not_moved_says_the_same_with_and_without_gradient(
    entropy_gradient: bool,
) -> None:
    model, how = smol(), Scoring(0.7, "bfloat16", entropy_gradient)
    batch = MicroBatch(tuple(map(tuple, PROMPTS)), tuple(map(tuple, SEVERAL)), slice(0, 6))
    assert torch.equal(
        fixed_logprobs(model, batch, how), score(model, batch, how).logprobs.detach()
    )


def test_an_accelerators_logits_are_not_taken_row_by_row() -> None:
    here = torch.zeros(2, 5, dtype=torch.bfloat16)
    plain, bonus = Scoring(1.0, "bfloat16", False), Scoring(1.0, "bfloat16", True)
    assert scoring._row_by_row(here, plain)
    assert not scoring._row_by_row(here, bonus)
    assert not scoring._row_by_row(here.float(), plain)
    assert not scoring._row_by_row(here.to("meta"), plain)
