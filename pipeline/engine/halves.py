"""A causal language model as two halves: its layers, and its head.

Logits are by far the largest tensors of a training step: 5 GB for 8 completions of 1,024 tokens
over Qwen2.5's vocabulary, in single precision, before logarithm and gradients. Hidden states are a
hundred times smaller, so the head is applied to the tokens that matter, in blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn
from transformers import PreTrainedModel

_HEAD_ALONE = {"qwen2", "qwen3", "llama", "mistral"}
"""Model types whose logits are the plain output of their head."""


@dataclass(frozen=True)
class Halves:
    """Body and head of a model.

    Attributes:
        body: From the model's inputs to the states of the ``last`` tokens [N, last, width], of all
            tokens if ``last`` is 0.
        head: From states [..., width] to logits [..., V].
    """

    body: Callable[..., Tensor]
    head: Callable[[Tensor], Tensor]

    @classmethod
    def of(cls, model: PreTrainedModel) -> Halves:
        """The halves of a model; where it transforms its logits, the head is the identity."""
        head = model.get_output_embeddings()
        if head is None or model.config.model_type not in _HEAD_ALONE:

            def whole(*, last: int = 0, **inputs: object) -> Tensor:
                logits: Tensor = model(**inputs, logits_to_keep=last).logits
                return logits

            return cls(whole, nn.Identity())

        def body(*, last: int = 0, **inputs: object) -> Tensor:
            states: Tensor = model.base_model(**inputs).last_hidden_state
            return states[:, -last:]

        return cls(body, head)
