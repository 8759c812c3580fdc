"""Linear layers through oneDNN against plain ones."""

import copy
from pathlib import Path

import pytest
import torch
from torch import nn

from pipeline.engine import linear
from pipeline.engine.linear import OneDnnLinear, use_faster_linear, use_onednn
from pipeline.train.tiny_base import processor
from tests.train import tiny


def pair(bias: bool) -> tuple[nn.Linear, nn.Linear]:
    """A plain layer and its copy through oneDNN."""
    torch.manual_seed(0)
    plain = nn.Linear(24, 40, bias=bias)
    fast = copy.deepcopy(plain)
    use_onednn(fast)
    assert type(fast) is OneDnnLinear and type(plain) is nn.Linear
    return plain, fast


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(24,), (1, 24), (7, 24), (3, 5, 24), (2, 1, 24), (0, 24)])
def test_output_and_gradients_equal_those_of_a_plain_layer(
    shape: tuple[int, ...], bias: bool
) -> None:
    found = []
    for layer in pair(bias):
        rows = torch.randn(shape, generator=torch.Generator().manual_seed(1), requires_grad=True)
        output = layer(rows)
        weights = torch.randn(output.shape, generator=torch.Generator().manual_seed(2))
        gradients = torch.autograd.grad((output * weights).sum(), [rows, *layer.parameters()])
        with torch.no_grad():
            torch.testing.assert_close(layer(rows), output, atol=0, rtol=0)
        found.append([output, *gradients])
    for plain, fast in zip(*found, strict=True):
        torch.testing.assert_close(fast, plain, atol=1e-5, rtol=1e-5)


def test_only_the_gradients_that_are_asked_for_are_computed() -> None:
    _, fast = pair(bias=True)
    fast.weight.requires_grad_(False)
    output = fast(torch.ones(3, 24))
    output.sum().backward()
    assert fast.weight.grad is None and fast.bias.grad is not None
    torch.testing.assert_close(fast.bias.grad, torch.full((40,), 3.0))


def test_a_gradient_of_a_gradient_is_refused_not_wrong() -> None:
    _, fast = pair(bias=False)
    rows = torch.randn(3, 24, requires_grad=True)
    (first,) = torch.autograd.grad(fast(rows).square().sum(), rows, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        first.sum().backward()


def test_rows_may_lie_apart_in_memory() -> None:
    plain, fast = pair(bias=True)
    rows = torch.randn(5, 48)[:, ::2]
    torch.testing.assert_close(fast(rows), plain(rows), atol=1e-5, rtol=1e-5)
    columns = torch.randn(24, 5).t()
    torch.testing.assert_close(fast(columns), plain(columns), atol=1e-5, rtol=1e-5)


def test_other_number_formats_are_left_to_the_plain_layer() -> None:
    plain, fast = pair(bias=True)
    rows = torch.randn(5, 24)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert fast(rows).dtype == torch.bfloat16
        assert torch.equal(fast(rows), plain(rows))
    assert torch.equal(fast.double()(rows.double()), plain.double()(rows.double()))


def test_a_model_keeps_its_weights_their_names_and_its_ties() -> None:
    model, _ = tiny.base()
    layers = [m for m in model.modules() if isinstance(m, nn.Linear)]
    before = list(model.state_dict())
    use_onednn(model)
    assert layers and all(type(layer) is OneDnnLinear for layer in layers)
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight
    assert list(model.state_dict()) == before


@pytest.mark.parametrize(
    ("said", "kind"),
    [("AuthenticAMD", OneDnnLinear), ("GenuineIntel", nn.Linear), (None, OneDnnLinear)],
)
def test_intel_processors_keep_plain_layers(
    said: str | None, kind: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    information = tmp_path / "cpuinfo"
    if said:
        information.write_text(f"vendor_id\t: {said}\n")
    monkeypatch.setattr(linear, "_CPUINFO", information)
    model = nn.Sequential(nn.Linear(2, 3))
    use_faster_linear(model, plain_below=7)
    assert type(model[0]) is kind
    assert processor()[2:] == (["Intel"] if said == "GenuineIntel" else [])
