"""Stopping within a step, from inside a forward pass."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from transformers import PreTrainedModel

PATIENCE_SECONDS = 5.0
"""Seconds for a step that has begun to change the weights to end after a stop is asked for."""


class Interrupted(KeyboardInterrupt):
    """The run was asked to stop; its state is written, running again resumes."""


class Leave(Exception):
    """Leaves a step from inside a forward pass."""


class Stopping:
    """A context that watches a policy and leaves its step when a stop is asked for.

    A step that has begun to change the weights, with the optimiser's first step, may end first if
    it is quick; ``changing`` is true meanwhile.
    """

    def __init__(
        self,
        policy: PreTrainedModel,
        optimizer: torch.optim.Optimizer,
        asked: Callable[[], bool],
    ) -> None:
        self.asked = asked
        self.changing = False
        # Its head may run without them, not they without being called.
        self._layers, self._optimizer = policy.base_model, optimizer
        self._since: float | None = None  # when a stop was first asked for

    def __enter__(self) -> Stopping:
        self._hooks = (
            self._layers.register_forward_pre_hook(self._leave_if_asked),
            self._optimizer.register_step_pre_hook(self._mark_changing),
        )
        return self

    def __exit__(self, *_: object) -> None:
        for hook in self._hooks:
            hook.remove()

    def step_done(self) -> None:
        self.changing = False

    def _mark_changing(self, *_: object) -> None:
        self.changing = True

    def _leave_if_asked(self, *_: object) -> None:
        if not self.asked():
            return
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        if not self.changing or now - self._since > PATIENCE_SECONDS:
            raise Leave
