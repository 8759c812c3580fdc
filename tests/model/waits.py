"""What a program on an accelerator would wait for: operations whose result the host must know."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Self

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

_DEPENDS_ON_DATA = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
# Made of others that are marked so, which inference mode does not show.
_MADE_OF_OTHERS = ("is_nonzero.default", "where.default", "repeat_interleave.self_Tensor")
_LEAVES_THE_DEVICE = ("tolist", "cpu", "numpy")


class Waits:
    """Notes what would be waited for while it is entered.

    Attributes:
        seen: Names of operations, in order.
    """

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._modes = ExitStack()

    def __enter__(self) -> Self:
        self._modes.enter_context(_Operations(self.seen))
        self._modes.enter_context(_Calls(self.seen))
        return self

    def __exit__(self, *_: object) -> None:
        self._modes.close()


class _Operations(TorchDispatchMode):
    """Notes operations whose result, or its shape, depends on what tensors hold."""

    def __init__(self, seen: list[str]) -> None:
        super().__init__()
        self.seen = seen

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        if _waits(func, args):
            self.seen.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def _waits(func: Any, args: Any) -> bool:
    name = func.overloadpacket.__name__
    if "index" in name and len(args) > 1 and isinstance(args[1], list | tuple):
        # By places it waits for nothing; by a mask it counts what the mask holds.
        return any(places is not None and places.dtype == torch.bool for places in args[1])
    return bool(_DEPENDS_ON_DATA & set(func.tags)) or str(func).endswith(_MADE_OF_OTHERS)


class _Calls(TorchFunctionMode):
    """Notes calls that copy to or from the host, of which a CPU makes no operation."""

    def __init__(self, seen: list[str]) -> None:
        super().__init__()
        self.seen = seen

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        named = kwargs or {}
        name = getattr(func, "__name__", "")
        made: Any = func(*args, **named)
        brought = name == "to" and "cpu" in (*args[1:2], named.get("device"))
        # From memory that can be paged out, which is copied while the host waits.
        sent = func is torch.tensor and named.get("device") is not None and made.numel()
        if name in _LEAVES_THE_DEVICE or brought or sent:
            self.seen.append(name)
        return made
