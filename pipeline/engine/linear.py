"""Linear layers by oneDNN on a CPU.

PyTorch's single-precision products use MKL, which leaves half of the vector width of processors
other than Intel's unused; oneDNN was 1.9 times as fast there, and on Intel's 1.0 times, in decoding
0.8 times. Both are single precision and differ by rounding alone. The vendor decides, not a
measurement: results would depend on the machine's load.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

_CPUINFO = Path("/proc/cpuinfo")


class OneDnnLinear(nn.Linear):
    """A linear layer whose single-precision products on a CPU use oneDNN.

    Attributes:
        plain_below: Multiplications below which the parent computes: calls of oneDNN cost more.
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
    if not made_by_intel():
        use_onednn(model, plain_below)


def made_by_intel() -> bool:
    return _CPUINFO.is_file() and "GenuineIntel" in _CPUINFO.read_text()


def use_onednn(model: nn.Module, plain_below: int = 0) -> None:
    """Turn a model's linear layers into :class:`OneDnnLinear`, if torch was built with oneDNN.

    Weights, their names and saved files stay as they are. ``plain_below``: see there.
    """
    if not torch.backends.mkldnn.is_available():
        return
    for module in model.modules():
        if type(module) is nn.Linear:
            module.__class__ = OneDnnLinear
            module.plain_below = plain_below  # type: ignore[assignment]


def _suits(tensor: Tensor) -> bool:
    return tensor.dtype == torch.float32 and tensor.device.type == "cpu" and tensor.numel() > 0


def onednn_product(rows: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Rows [..., in] times the transpose of weight [out, in], plus bias [out]; no gradient.

    One number format, on a CPU.
    """
    output: Tensor = torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")
    return output


def packed(weight: Tensor) -> Tensor | None:
    """A weight [out, in] repacked for :func:`onednn_product` alone; None if unsupported."""
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
