"""Linear layers whose products oneDNN computes on a CPU.

PyTorch hands single-precision products to MKL, which leaves half of a processor's vector width
unused where it is not Intel's; oneDNN uses all of it, and was 1.9 times as fast there. On Intel's
it was 1.0 times as fast, and 0.8 times in decoding. The arithmetic is single precision either way,
and the results differ by rounding alone. Whose processor it is decides, and no measurement: results
would change with what else a machine did while it measured.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

_CPUINFO = Path("/proc/cpuinfo")


class OneDnnLinear(nn.Linear):
    """A linear layer like its parent; products of single precision on a CPU go through oneDNN.

    Attributes:
        plain_below: Multiplications below which the parent does it: calls of oneDNN cost more.
    """

    plain_below = 0

    def forward(self, rows: Tensor) -> Tensor:
        """``rows`` [..., in] times the transposed weight, plus the bias [..., out]."""
        if rows.numel() * self.out_features < self.plain_below:
            return super().forward(rows)
        tensors = (rows, *self.parameters())
        if torch.is_autocast_enabled("cpu") or not all(map(_suits, tensors)):
            return super().forward(rows)
        if not torch.is_grad_enabled():
            return onednn_product(rows, self.weight, self.bias)
        output: Tensor = _Linear.apply(rows, self.weight, self.bias)  # type: ignore[no-untyped-call]
        return output


def use_faster_linear(model: nn.Module, plain_below: int = 0) -> None:
    """Let :func:`use_onednn` change a model's linear layers where that makes them faster."""
    if not made_by_intel():
        use_onednn(model, plain_below)


def made_by_intel() -> bool:
    """Whether Linux says that the processor is Intel's."""
    return _CPUINFO.is_file() and "GenuineIntel" in _CPUINFO.read_text()


def use_onednn(model: nn.Module, plain_below: int = 0) -> None:
    """Turn a model's linear layers into :class:`OneDnnLinear`, where torch was built with oneDNN.

    Weights, their names and saved files stay as they are.

    Args:
        model: Any model.
        plain_below: Multiplications of a product below which its layers stay as they were.
    """
    if not torch.backends.mkldnn.is_available():
        return
    for module in model.modules():
        if type(module) is nn.Linear:
            module.__class__ = OneDnnLinear
            module.plain_below = plain_below  # type: ignore[assignment]


def _suits(tensor: Tensor) -> bool:
    """Whether oneDNN takes a tensor: not empty, single precision, on a CPU."""
    return tensor.dtype == torch.float32 and tensor.device.type == "cpu" and tensor.numel() > 0


def onednn_product(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Rows [..., in] times the transpose of weight [out, in], plus bias [out]; no gradient.

    All in one number format, on a CPU.
    """
    output: Tensor = torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")
    return output


def packed(weight: Tensor) -> Tensor | None:
    """A weight [out, in] as oneDNN's products read it fastest; None where it takes none such.

    :func:`onednn_product` takes it in the weight's place. Nothing else does.
    """
    if weight.device.type != "cpu" or not torch.backends.mkldnn.is_available():
        return None
    if weight.dtype == torch.bfloat16 and not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        return None
    made: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), None)
    return made


class _Linear(torch.autograd.Function):
    """The product with its gradients; all three run through oneDNN."""

    @staticmethod
    def forward(context: Any, rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        context.save_for_backward(rows, weight)
        return onednn_product(rows, weight, bias)

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        rows, weight = context.saved_tensors
        flat, flat_rows = (t.reshape(-1, t.shape[-1]) for t in (gradient, rows))
        of_rows = of_weight = of_bias = None
        if context.needs_input_grad[0]:
            of_rows = onednn_product(gradient, weight.t(), None)
        if context.needs_input_grad[1]:
            # The first operand is copied to be transposed: let it be the narrower one.
            if flat.shape[1] > flat_rows.shape[1]:
                of_weight = onednn_product(flat_rows.t(), flat.t(), None).t()
            else:
                of_weight = onednn_product(flat.t(), flat_rows.t(), None)
        if context.needs_input_grad[2]:
            of_bias = flat.sum(0)
        return of_rows, of_weight, of_bias
