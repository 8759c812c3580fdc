"""Models of published architectures, run by the project's passes and by transformers alone."""

from __future__ import annotations

import pytest
import torch
from transformers import PreTrainedModel

from pipeline.base.errors import UserError
from pipeline.engine.decode import generate
from pipeline.engine.families import TESTED, context_of, refuse_unfit
from pipeline.engine.halves import Halves
from pipeline.engine.logprobs import completion_states
from pipeline.engine.sampling import Sampling
from tests.model.families import FAMILIES, made

PROMPTS = [[5, 6, 7, 8, 9], [10, 11], [12]]
GREEDY = Sampling(24, temperature=0.0)
COMPLETIONS = [[20, 21, 22], [30], [40, 41], [50, 51, 52, 53], [60, 61], [70]]


@pytest.fixture(params=FAMILIES, scope="module")
def model(request: pytest.FixtureRequest) -> PreTrainedModel:
    kind, differing = FAMILIES[request.param]
    return made(kind, **differing)


def test_training_computes_what_transformers_does(model: PreTrainedModel) -> None:
    states, _, mask = completion_states(model, PROMPTS, COMPLETIONS)
    logits = Halves.of(model).head(states)[mask]
    rows = [(PROMPTS[row // 2], completion) for row, completion in enumerate(COMPLETIONS)]
    plain = torch.cat([model(torch.tensor([p + c])).logits[0, len(p) - 1 : -1] for p, c in rows])
    torch.testing.assert_close(logits, plain, atol=1e-5, rtol=1e-5)
    weights = list(model.parameters())
    ours = torch.autograd.grad(logits.square().mean(), weights)
    theirs = torch.autograd.grad(plain.square().mean(), weights)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_answers_are_those_of_transformers(model: PreTrainedModel) -> None:
    found = generate(model, PROMPTS, [(i,) for i in range(3)], GREEDY, stops=[])
    for prompt, completion in zip(PROMPTS, found, strict=True):
        row = list(prompt)
        for _ in range(24):
            row.append(int(model(torch.tensor([row])).logits[0, -1].argmax()))
        assert list(completion.tokens) == row[len(prompt) :]


def test_every_architecture_that_is_said_to_be_tested_is() -> None:
    assert {kind for kind, _ in FAMILIES.values()} == TESTED


def test_a_window_is_the_longest_text() -> None:
    assert context_of(made("gemma3_text", sliding_window=64).config) == 64
    assert context_of(made("mistral", sliding_window=64).config) == 64
    assert context_of(made("qwen2", sliding_window=64).config) == 256  # not in use


def test_a_text_longer_than_the_window_is_refused() -> None:
    model = made("gemma3_text", sliding_window=64)
    refuse_unfit(model, 64)
    with pytest.raises(UserError, match="gemma3_text models .*: some see a window of 64"):
        refuse_unfit(model, 65)


def test_another_architecture_is_tried() -> None:
    refuse_unfit(made("starcoder2", sliding_window=None))


@pytest.mark.parametrize(
    ("kind", "differing", "said"),
    [
        ("gemma2", {}, "layers of gemma2 models do not fit the local passes: they cap the scores"),
        ("gpt_oss", {"num_local_experts": 2, "num_experts_per_tok": 1}, "layers of gpt_oss models"),
        ("bloom", {"n_head": 4, "n_layer": 2}, "layers of bloom models"),
        ("mamba", {}, "layers of mamba models"),
    ],
)
def test_layers_that_do_not_fit_are_refused_by_name(
    kind: str, differing: dict[str, object], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        refuse_unfit(made(kind, attention="eager", **differing))
