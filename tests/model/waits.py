"""What a program on an accelerator would wait for: operations whose result the host must know."""

from __future__ import annotations

from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

_WAITED_FOR = ("_local_scalar_dense", "nonzero", "is_nonzero", "masked_select", "unique", "equal")


class Waits(TorchDispatchMode):
    """Notes such operations while it is entered.

    Attributes:
        seen: Their names, in order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        name = func.overloadpacket.__name__
        masks = (
            (index for index in args[1] if index is not None)
            if "index" in name and len(args) > 1 and isinstance(args[1], list | tuple)
            else ()
        )
        if name in _WAITED_FOR or any(str(mask.dtype) == "torch.bool" for mask in masks):
            self.seen.append(name)
        return func(*args, **(kwargs or {}))
