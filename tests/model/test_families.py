"""Models of published architectures, run by the project's passes and by transformers alone."""

from __future__ import annotations

import pytest
import torch
from transformers import PreTrainedModel

from pipeline.engine.decode import generate
from pipeline.engine.halves import Halves
from pipeline.engine.logprobs import completion_states
from pipeline.engine.sampling import Sampling
from tests.model.families import FAMILIES, made

PROMPTS = [[5, 6, 7, 8, 9], [10, 11], [12]]
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
    found = generate(model, PROMPTS, [(i,) for i in range(3)], Sampling(24), end=-1)
    for prompt, completion in zip(PROMPTS, found, strict=True):
        row = list(prompt)
        for _ in range(24):
            row.append(int(model(torch.tensor([row])).logits[0, -1].argmax()))
        assert list(completion.tokens) == row[len(prompt) :]
