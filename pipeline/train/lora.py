"""LoRA: low-rank adapters of a model's linear layers.

Hu et al. 2021, arXiv 2106.09685, section 4.1: a layer's weight is W + (alpha / rank) B A, where W
is the base model's and only A [rank, in] and B [out, rank] are trained. The model itself always
holds these sums, so that it samples and is scored like any other. Gradients of a sum reach A and B
by the chain rule.

Where the base model holds W in bfloat16, the model holds its sums in bfloat16, as its forward pass
would cast them. A and B, their gradients, their optimiser and stored sums are float32.

Layers and initialisation are those of ``peft`` with ``target_modules: all-linear``: all linear
layers but the vocabulary head, A drawn uniformly, B zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from pipeline.config.training import Lora
from pipeline.train.learner import Learner


@dataclass(frozen=True)
class Adapter:
    """The adapter of one linear layer.

    Attributes:
        name: Of the layer in the model.
        weight: The layer's weight [out, in], which holds the sum, in the format of ``base``.
        base: The base model's [out, in].
        down: A [rank, in].
        up: B [out, rank].
        scale: alpha / rank.
    """

    name: str
    weight: nn.Parameter
    base: Tensor
    down: nn.Parameter
    up: nn.Parameter
    scale: float

    @torch.no_grad()
    def sum(self) -> Tensor:
        """W + (alpha / rank) B A in float32."""
        return self.base + self.scale * (self.up @ self.down)

    @torch.no_grad()
    def merge(self) -> None:
        self.weight.copy_(self.sum())

    @torch.no_grad()
    def hand_on(self, weight: Tensor) -> None:
        """Move the sum's gradient to A and B."""
        assert weight.grad is not None
        gradient, weight.grad = weight.grad.float(), None
        with torch.autocast(weight.device.type, enabled=False):  # backward passes may run in it
            _add(self.up, self.scale * (gradient @ self.down.T))
            _add(self.down, self.scale * (self.up.T @ gradient))

    def tensors(self) -> dict[str, Tensor]:
        """A and B, by ``peft``'s names."""
        return {f"{self.name}.lora_A.weight": self.down, f"{self.name}.lora_B.weight": self.up}


@dataclass(frozen=True)
class LoraLearner(Learner):
    """A model with adapters, and their optimiser."""

    adapters: tuple[Adapter, ...] = ()

    @classmethod
    def with_adapters(
        cls, model: PreTrainedModel, base: PreTrainedModel, lora: Lora, rate: float, seed: int
    ) -> Self:
        """A model with fresh adapters and a fresh AdamW on them.

        Args:
            model: All of its parameters but the adapted weights are frozen.
            base: A frozen copy with W in float32 or bfloat16, on the device of the adapted weights.
        """
        model.requires_grad_(False)
        generator = torch.Generator().manual_seed(seed)
        weights = dict(base.named_parameters())
        adapters = tuple(
            _adapter(name, layer, weights[f"{name}.weight"], lora, generator)
            for name, layer in adapted(model)
        )
        trained = [parameter for each in adapters for parameter in (each.down, each.up)]
        return cls(model, cls.optimizer_of(trained, rate), adapters)

    @property
    def trained(self) -> list[nn.Parameter]:
        return [parameter for each in self.adapters for parameter in (each.down, each.up)]

    def step(self, gradient_clip: float) -> float:
        """Step on the adapters, and merge them; see :meth:`Learner.step`."""
        norm = super().step(gradient_clip)
        self._merge()
        return norm

    def stored(self) -> dict[str, Tensor]:
        """A copy of the model's weights, with the sums in float32."""
        sums = {f"{each.name}.weight": each.sum().cpu() for each in self.adapters}
        return super().stored() | sums

    def weights(self) -> dict[str, Tensor]:
        named = {name: t for each in self.adapters for name, t in each.tensors().items()}
        return {name: tensor.detach().cpu().clone() for name, tensor in named.items()}

    @torch.no_grad()
    def set_weights(self, weights: dict[str, Tensor]) -> None:
        """Set the adapters from :meth:`weights`, and merge them."""
        for adapter in self.adapters:
            for name, tensor in adapter.tensors().items():
                tensor.copy_(weights[name])
        self._merge()

    def _merge(self) -> None:
        for adapter in self.adapters:
            adapter.merge()


def _add(trained: nn.Parameter, gradient: Tensor) -> None:
    trained.grad = gradient if trained.grad is None else trained.grad.add_(gradient)


def adapted(model: PreTrainedModel) -> Iterator[tuple[str, nn.Linear]]:
    """Yield the linear layers that get an adapter, by name: all but the vocabulary head."""
    head = model.get_output_embeddings()
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear) and module is not head:
            yield name, module


def _adapter(
    name: str, layer: nn.Linear, base: Tensor, lora: Lora, generator: torch.Generator
) -> Adapter:
    weight = layer.weight = nn.Parameter(base.detach().clone())
    bound = 1 / math.sqrt(layer.in_features)  # nn.Linear's own, of which peft makes A
    down = (2 * torch.rand(lora.rank, layer.in_features, generator=generator) - 1) * bound
    up = torch.zeros(layer.out_features, lora.rank)
    adapter = Adapter(
        name,
        weight,
        base,
        nn.Parameter(down.to(base.device)),
        nn.Parameter(up.to(base.device)),
        lora.alpha / lora.rank,
    )
    # Handed on at once, micro-batches add up in float32 whatever the format of the weight.
    weight.register_post_accumulate_grad_hook(adapter.hand_on)
    return adapter
