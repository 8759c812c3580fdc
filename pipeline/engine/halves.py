"""A causal language model as two halves: all of its layers, and the head that makes logits.

Logits are by far the largest tensors of a training step: 8 completions of 1,024 tokens have 5 GB of
them over Qwen2.5's vocabulary, in single precision and before their logarithm and gradients are
counted. Between the halves stands the state of each token, a hundred times smaller, and so the head
can be applied to the tokens that matter, some at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn
from transformers import PreTrainedModel

_HEAD_ALONE = {"qwen2", "qwen3", "llama", "mistral"}
"""Model types whose logits are their head's output, with nothing done to it after."""


@dataclass(frozen=True)
class Halves:
    """See above.

    Attributes:
        body: From what transformers' models are given to the states of the ``last`` tokens
            [N, last, width], of all tokens if ``last`` is 0.
        head: From states [..., width] to logits [..., V].
    """

    body: Callable[..., Tensor]
    head: Callable[[Tensor], Tensor]

    @classmethod
    def of(cls, model: PreTrainedModel) -> Halves:
        """The halves of a model.

        Of a model that does more to its logits, the first half is all of it: the "states" are
        logits, and the head leaves them as they are.
        """
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
