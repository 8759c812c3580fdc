"""Attention to a shared prompt: grouped heads, ragged prompts, dropped rows, both ways of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel

from pipeline.engine import logprobs, shared_prefix
from pipeline.engine.decode import Completion, generate
from pipeline.engine.halves import Halves
from pipeline.engine.logprobs import completion_states
from pipeline.engine.packed import packs
from pipeline.engine.sampling import Sampling
from pipeline.engine.shared_prefix import Prefix, joined, repeated
from tests.model.grouped import grouped_heads

PROMPTS = [[5, 6, 7, 8, 9], [10, 11], [12]]
COMPLETIONS = [[20, 21, 22], [30], [40, 41], [50, 51, 52, 53], [60, 61], [70]]


@pytest.fixture(scope="module")
def model() -> PreTrainedModel:
    return grouped_heads(vocabulary=128)


def completion_logits(
    model: PreTrainedModel, prompts: list[list[int]], completions: list[list[int]]
) -> tuple[Tensor, Tensor]:
    states, _, mask = completion_states(model, prompts, completions)
    return Halves.of(model).head(states), mask


@pytest.mark.parametrize("prompts", [PROMPTS, [[5, 6], [10, 11], [12, 13]]], ids=["ragged", "even"])
@pytest.mark.parametrize("few", [256, 0], ids=["in float32", "in bfloat16"])
@pytest.mark.parametrize("taken", [packs, lambda _: False], ids=["packed", "modules"])
def test_gradients_in_bfloat16_point_where_those_in_float32_do(
    model: PreTrainedModel,
    monkeypatch: pytest.MonkeyPatch,
    prompts: list[list[int]],
    few: int,
    taken: Callable[[PreTrainedModel], bool],
) -> None:
    monkeypatch.setattr(shared_prefix, "_FEW", few)
    monkeypatch.setattr(logprobs, "packs", taken)
    directions = []
    for dtype in (torch.float32, torch.bfloat16):
        with torch.autocast("cpu", dtype, enabled=dtype == torch.bfloat16):
            logits, mask = completion_logits(model, prompts, COMPLETIONS)
            loss = logits[mask].float().square().mean()
        directions.append(torch.autograd.grad(loss, list(model.parameters())))
        assert model.config._attn_implementation == "sdpa"
    for exact, near in zip(*directions, strict=True):
        alike = torch.nn.functional.cosine_similarity(exact.flatten(), near.flatten(), dim=0)
        assert alike > 0.995 and near.norm() == pytest.approx(exact.norm(), rel=0.05)


def test_the_model_attends_as_before_afterwards(model: PreTrainedModel) -> None:
    before = model(torch.tensor([[5, 6, 7]])).logits
    generate(model, PROMPTS, [(i,) for i in range(3)], Sampling(3), stops=())
    assert model.config._attn_implementation == "sdpa"
    assert torch.equal(model(torch.tensor([[5, 6, 7]])).logits, before)


def test_rows_that_end_early_leave_the_others_alone(model: PreTrainedModel) -> None:
    """With a frequent end token, rows of every prompt drop out at different steps."""
    keys, sampling = [(0, i) for i in range(12)], Sampling(24, temperature=2.0)
    free = generate(model, PROMPTS, keys, sampling, stops=())
    end = max(range(128), key=lambda token: sum(token in row.tokens for row in free))
    found = generate(model, PROMPTS, keys, sampling, {end})
    assert len({len(completion.tokens) for completion in found}) > 2
    for stopped, whole in zip(found, free, strict=True):
        length = len(stopped.tokens)
        assert stopped == Completion(whole.tokens[:length], finished=end in whole.tokens)


@pytest.mark.parametrize("heads", [2, 4], ids=["grouped", "ungrouped"])
@pytest.mark.parametrize("padding", [(0, 3), (0, 0), (0,), (2,)], ids=str)
@pytest.mark.parametrize("group", [1, 3])
def test_both_ways_to_attend_agree(heads: int, padding: tuple[int, ...], group: int) -> None:
    """Joined flash attention, and a copy of the prompt for each row; with gradients.

    One prompt or several, of one length or not; ``heads`` of four query heads have their own keys.
    """
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator).requires_grad_()

    rows, prompts = len(padding) * group, len(padding)
    keys, values = draw(prompts, heads, 7, 16), draw(prompts, heads, 7, 16)
    own = draw(rows, 4, 5, 16), draw(rows, heads, 5, 16), draw(rows, heads, 5, 16)
    inputs = (*own, keys, values)
    prefix = Prefix.of([keys], [values], [7 - each for each in padding], group, left=True)
    assert (prefix.bias is None) == (not any(padding))
    ways: tuple[Callable[..., Tensor], ...] = (joined, repeated)
    one, other = (way(*inputs, prefix, 0.25) for way in ways)
    torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)
    wanted = torch.randn(one.shape, generator=generator)
    gradients = (torch.autograd.grad(output, inputs, wanted) for output in (one, other))
    for ours, others in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, others, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    ("prompts", "rows"), [(PROMPTS, 6), ([[5, 6], [10, 11], [12, 13]], 1)], ids=["ragged", "equal"]
)
def test_all_layers_keep_one_matrix_of_hidden_scores(
    model: PreTrainedModel, prompts: list[list[int]], rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_prefix, "joined", repeated)
    own = max(map(len, COMPLETIONS)) - 1
    far = max(map(len, prompts))
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        if tensor.shape[-2:] == (own, far + own):
            storage = tensor.untyped_storage()
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        completion_logits(model, prompts, COMPLETIONS)
    assert list(kept.values()) == [rows * own * 8 * 4], "of single precision, in steps of eight"


@pytest.mark.parametrize(
    "prompts", [PROMPTS, [[5, 6], [10, 11], [12, 13]]], ids=["ragged", "equal"]
)
@pytest.mark.parametrize("half", [False, True], ids=["float32", "bfloat16"])
def test_the_way_of_accelerators_gives_the_logits_of_the_cpu(
    model: PreTrainedModel, prompts: list[list[int]], half: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through a whole model, in both number formats."""
    tolerance = {"atol": 0.15, "rtol": 0.05} if half else {"atol": 1e-5, "rtol": 1e-5}
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
        cpu, mask = completion_logits(model, prompts, COMPLETIONS)
        monkeypatch.setattr(shared_prefix, "joined", repeated)
        accelerator, _ = completion_logits(model, prompts, COMPLETIONS)
    torch.testing.assert_close(accelerator[mask], cpu[mask], **tolerance)
