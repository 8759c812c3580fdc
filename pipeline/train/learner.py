"""A model with its optimiser."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from pipeline.model.weights import load_weights, weights_of

_WEIGHT_DECAY = 0.01


class NotFinite(Exception):
    """A loss or gradient is not finite; the optimiser has not stepped on it."""


@dataclass(frozen=True)
class Learner:
    """A model with its optimiser."""

    model: PreTrainedModel
    optimizer: torch.optim.Optimizer

    @classmethod
    def of(cls, model: PreTrainedModel, learning_rate: float) -> Learner:
        return cls(model, cls.optimizer_of(model.parameters(), learning_rate))

    @staticmethod
    def optimizer_of(parameters: Iterable[nn.Parameter], rate: float) -> torch.optim.Optimizer:
        return torch.optim.AdamW(parameters, lr=rate, weight_decay=_WEIGHT_DECAY, fused=True)

    @property
    def trained(self) -> list[nn.Parameter]:
        return list(self.model.parameters())

    def set_rate(self, rate: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def step(self, gradient_clip: float) -> float:
        """Clip the gradients, step, clear them; return their norm before clipping, which must be
        finite.
        """
        norm = torch.nn.utils.clip_grad_norm_(self.trained, gradient_clip)
        if not torch.isfinite(norm):
            self.optimizer.zero_grad()
            raise NotFinite(f"the gradient is {norm.item()}")
        self.optimizer.step()
        self.optimizer.zero_grad()
        return float(norm)

    def stored(self) -> dict[str, Tensor]:
        """A copy of the model's weights for storage, by name."""
        return weights_of(self.model)

    def weights(self) -> dict[str, Tensor]:
        """A copy of the weights for :meth:`set_weights`, by name."""
        return weights_of(self.model)

    def set_weights(self, weights: dict[str, Tensor]) -> None:
        load_weights(self.model, weights)

    def tensors(self, prefix: str) -> dict[str, Tensor]:
        """The state by name: ``PREFIXmodel.NAME`` and ``PREFIXoptimizer.INDEX.NAME``."""
        found = {f"{prefix}model.{k}": v for k, v in self.weights().items()}
        for index, state in self.optimizer.state_dict()["state"].items():
            found |= {f"{prefix}optimizer.{index}.{k}": v.cpu() for k, v in state.items()}
        return found

    def load(self, tensors: dict[str, Tensor], prefix: str) -> None:
        self.set_weights(_section(tensors, f"{prefix}model."))
        saved = self.optimizer.state_dict()
        for name, tensor in _section(tensors, f"{prefix}optimizer.").items():
            index, key = name.split(".")
            saved["state"].setdefault(int(index), {})[key] = tensor
        self.optimizer.load_state_dict(saved)


def _section(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
