"""A model's head apart from its layers, and logits that are never all there at once."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from transformers import Gemma2Config, Gemma2ForCausalLM, PreTrainedModel

from pipeline.engine.halves import Halves
from pipeline.engine.logprobs import of_logits
from tests.model.grouped import grouped_heads

IDS = torch.tensor([[5, 6, 7, 8], [9, 10, 11, 12]])


def capped() -> PreTrainedModel:
    """A model that squeezes its logits after its head."""
    torch.manual_seed(0)
    return Gemma2ForCausalLM(
        Gemma2Config(
            vocab_size=64,
            hidden_size=32,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            head_dim=16,
            final_logit_softcapping=0.5,
        )
    ).eval()


@pytest.mark.parametrize("model", [grouped_heads(vocabulary=64), capped()], ids=["qwen2", "gemma2"])
@pytest.mark.parametrize("last", [0, 1, 3])
@torch.no_grad()
def test_the_halves_make_the_whole(model: PreTrainedModel, last: int) -> None:
    halves = Halves.of(model)
    logits = halves.head(halves.body(input_ids=IDS, use_cache=False, last=last))
    torch.testing.assert_close(logits, model(IDS).logits[:, -last:])


class Watched(nn.Linear):
    """Notes how many logits it makes."""

    def forward(self, rows: Tensor) -> Tensor:
        self.made = [*getattr(self, "made", []), len(rows) * self.out_features]
        return super().forward(rows)


def figures(logits: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    log_softmax = logits.log_softmax(-1)
    return log_softmax.gather(-1, ids.unsqueeze(-1)).squeeze(-1), log_softmax.square().sum(-1)


@pytest.mark.parametrize("at_once", [1, 20, 45, 69])
def test_logits_in_parts_give_the_same_figures_and_gradients(at_once: int) -> None:
    torch.manual_seed(0)
    head, states, ids = Watched(4, 10), torch.randn(7, 4, requires_grad=True), torch.arange(7)
    inputs = (states, head.weight, head.bias)

    def run(limit: int) -> list[Tensor]:
        found = of_logits(head, states, ids, figures, limit)
        return [*found, *torch.autograd.grad(sum(each.sum() for each in found), inputs)]

    whole = run(70)
    assert head.made == [70]
    head.made.clear()
    parts = run(at_once)
    # Each part once forward and once more for its gradients.
    assert sum(head.made) == 2 * 70 and max(head.made) <= max(at_once, 10)
    for one, other in zip(parts, whole, strict=True):
        torch.testing.assert_close(one, other)
    head.made.clear()
    with torch.no_grad():
        found = of_logits(head, states, ids, figures, at_once)
    assert sum(head.made) == 70 and torch.equal(found[0], parts[0])
