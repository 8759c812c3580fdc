"""Recording and replaying operations on a CPU, as a graph of CUDA does on its device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

Action = Callable[[], None]


class Tape(TorchDispatchMode):
    """Notes all operations while it is entered; replays them without the program that asked."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        result = func(*args, **(kwargs or {}))
        self.calls.append((func, args, kwargs or {}, result))
        return result

    def replay(self) -> None:
        """Repeat the operations on the tensors that were there before them, as these are now."""
        made: dict[int, Tensor] = {}

        def now(value: object) -> object:
            return made.get(id(value), value) if isinstance(value, Tensor) else value

        for func, args, kwargs, before in self.calls:
            after = func(*tree_map(now, args), **tree_map(now, kwargs))
            for old, new in zip(tree_flatten(before)[0], tree_flatten(after)[0], strict=True):
                if isinstance(old, Tensor):
                    made[id(old)] = new


class Recorder:
    """Stands in for :func:`pipeline.engine.recording.record` where there is no accelerator.

    Attributes:
        replays: How often each recording was replayed.
    """

    def __init__(self) -> None:
        self.replays: list[int] = []

    def __call__(self, action: Action) -> Action:
        """See there; what a tape notes has been carried out, so the first replay has none to do."""
        tape, index = Tape(), len(self.replays)
        with tape:
            action()
        self.replays.append(0)

        def again() -> None:
            if self.replays[index]:
                tape.replay()
            self.replays[index] += 1

        return again
