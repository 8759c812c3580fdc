"""Layers of Qwen2 and Llama written out, against transformers' own modules."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from transformers import PreTrainedModel, Qwen2ForCausalLM

from pipeline.engine import written_out
from pipeline.engine.device import answering
from pipeline.engine.key_values import OwnKeyValues, SharedKeyValues
from pipeline.engine.linear import onednn_product, use_onednn
from pipeline.engine.passes import ModulePasses, Passes
from pipeline.engine.written_out import WrittenOut, passes_of
from pipeline.model.weights import load_model
from tests.conftest import PROJECT
from tests.model.families import FAMILIES, made
from tests.model.grouped import grouped_heads

PROMPTS = [[7, 9, 11], [20, 3, 5, 8, 13, 21], [4]]


def shipped() -> PreTrainedModel:
    """A trained model, with tied embeddings."""
    return load_model(PROJECT / "models" / "nano-0" / "model")[0]


def far() -> PreTrainedModel:
    """A model whose query heads share key-value heads, with biases and norms of any size."""
    made = grouped_heads(vocabulary=100)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if "norm" in name or "bias" in name:
                parameter.add_(torch.randn_like(parameter))
    return made


def of_family(name: str) -> PreTrainedModel:
    """A model of a published architecture."""
    kind, differing = FAMILIES[name]
    return made(kind, **differing)


def smol() -> PreTrainedModel:
    """A model of SmolLM2's architecture: no biases, tied embeddings, three heads to a key."""
    return of_family("SmolLM2")


def llama() -> PreTrainedModel:
    """A model of Llama 3's, which turns far tokens less."""
    return of_family("Llama 3")


@torch.inference_mode()
def run(passes: Passes, *, grows: bool = True) -> list[Tensor]:
    """Encode the prompts and go on with some tokens, forgetting a row on the way."""
    found = passes.encode(PROMPTS)
    memory = OwnKeyValues(rows=4, most=12, grows=grows)
    lengths = [3, 6, 0, 1]
    memory.take(found.keys, found.values, [0, 1, 3], [3, 6, 1], found.left)
    logits = [found.logits]
    for token in (30, 31, 32, 33):
        held = torch.tensor(lengths)
        memory.go_to(held, max(lengths) + 1)
        made = passes.step(torch.arange(len(lengths)) + token, held, memory)
        logits.append(made[[n for n, length in enumerate(lengths) if length]])
        lengths = [length + 1 if length else 0 for length in lengths]
        if token == 31:
            kept = memory.keep([1, 3], max(lengths))
            assert sorted(kept) == [1, 3]
            lengths = [lengths[row] for row in kept]
    return logits


@pytest.mark.parametrize("way", ["plain", "onednn", "packed"])
@pytest.mark.parametrize("build", [shipped, far, smol, llama])
def test_the_logits_are_those_of_the_modules(
    build: Callable[[], PreTrainedModel], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, products = build(), []

    def product(*operands: Tensor | None) -> Tensor:
        products.append(operands)
        return onednn_product(*operands)  # type: ignore[arg-type]

    monkeypatch.setattr(written_out, "onednn_product", product)
    monkeypatch.setattr(written_out, "_WORTH_ONEDNN", 0 if way == "onednn" else 2**60)
    monkeypatch.setattr(written_out, "_WORTH_PACKING", 0 if way == "packed" else 2**60)
    if way == "onednn":
        use_onednn(model)
    ours, theirs = run(passes_of(model)), run(ModulePasses(model))
    assert bool(products) is (way != "plain")
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == other.shape and other.std() > 0.1
        torch.testing.assert_close(one, other, atol=2e-5 * float(other.abs().max()), rtol=0)


@pytest.mark.parametrize("packing", [0, 2**60])
@pytest.mark.parametrize("build", [shipped, far, smol])
def test_in_bfloat16_the_logits_are_as_near_as_those_of_the_modules(
    build: Callable[[], PreTrainedModel], packing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(written_out, "_WORTH_PACKING", packing)
    model = build()
    exact = torch.cat(run(ModulePasses(model)))
    with answering(model, "bfloat16"):
        passes = passes_of(model)
        assert isinstance(passes, WrittenOut) and passes.dtype == torch.bfloat16
        ours, theirs = (torch.cat(run(each)) - exact for each in (passes, ModulePasses(model)))
    assert 0 < ours.square().mean() < 1.3 * theirs.square().mean()


def test_rows_with_all_their_room_from_the_start_give_the_same_logits() -> None:
    passes = WrittenOut(far())
    for one, other in zip(run(passes), run(passes, grows=False), strict=True):
        torch.testing.assert_close(one, other, atol=2e-5 * float(other.abs().max()), rtol=0)


def test_prompts_that_rows_share_give_the_logits_of_the_modules() -> None:
    model, logits = far(), []
    for passes in (WrittenOut(model), ModulePasses(model)):
        with torch.inference_mode():
            found = passes.encode(PROMPTS)
            memory = SharedKeyValues(found.prefix([3, 6, 1], group=2), room=5)
            lengths = torch.tensor([3, 3, 6, 6, 1, 1])
            for step in range(4):
                memory.go_to(step + 1)
                logits.append(passes.step(lengths + step, lengths + step, memory))
                if step == 1:
                    kept = torch.tensor([0, 3, 5])
                    memory.keep(kept)
                    lengths = lengths[kept]
    for one, other in zip(logits[:4], logits[4:], strict=True):
        torch.testing.assert_close(one, other, atol=2e-5 * float(other.abs().max()), rtol=0)


def test_who_hears_of_forward_passes_hears_of_these() -> None:
    model, heard = far(), list[object]()
    with (
        torch.inference_mode(),
        model.base_model.register_forward_pre_hook(lambda *_: heard.append(1)),
    ):
        WrittenOut(model).encode(PROMPTS)
    assert heard


def test_only_what_is_written_out_is_run_so(monkeypatch: pytest.MonkeyPatch) -> None:
    model = grouped_heads(vocabulary=100)
    assert isinstance(passes_of(model), WrittenOut)
    with torch.autocast("cpu", dtype=torch.float16):
        assert isinstance(passes_of(model), ModulePasses)
    assert isinstance(passes_of(model.bfloat16()), ModulePasses)
    model = grouped_heads(vocabulary=100)
    model.config.rope_parameters = {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4}
    assert isinstance(passes_of(Qwen2ForCausalLM(model.config)), ModulePasses)
    for others in ({"attention_bias": True}, {"mlp_bias": True}):
        assert isinstance(passes_of(made("llama", **others)), ModulePasses)
    assert isinstance(passes_of(of_family("Qwen3")), ModulePasses)
    monkeypatch.setattr(written_out, "LARGEST", 10)
    assert isinstance(passes_of(grouped_heads(vocabulary=100)), ModulePasses)
