"""The process of one accelerator while verl trains by imitation: it also measures what it trains.

verl's trainer for imitation samples nothing and knows a loss alone. Here each process puts the
weights, gathered from all, into a copy of the model that is whole, and decodes its share of the
prompts with it as the local trainer does. Between measurements the copy waits in the node's memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.modeling_outputs import CausalLMOutputWithPast
from verl.single_controller.base.decorator import (
    Dispatch,
    make_nd_compute_dataproto_dispatch_fn,
    register,
)
from verl.utils import tensordict_utils
from verl.utils.device import get_device_name, get_torch_device
from verl.utils.torch_functional import masked_sum
from verl.workers.engine_workers import TrainingWorker
from verl.workers.utils.losses import sft_loss

from pipeline.config.training import Train
from pipeline.engine.linear import use_faster_linear
from pipeline.reward.presets import preset_of
from pipeline.train.data import TokenisedRow
from pipeline.train.probe import GreedyAccuracy
from pipeline.train.rollout import Judge

ENTROPY = "entropy_share"
"""Each micro-batch's part of the mean entropy of the taught tokens of its batch, in nats."""


@dataclass(frozen=True)
class SftQuestions:
    """What the weights are asked.

    Attributes:
        base: Folder of the base model: gives tokenizer and shape.
        recipe: Gives lengths, number format and what is right.
        sets: Prompts by the name of the set.
    """

    base: str
    recipe: Train
    sets: Mapping[str, tuple[TokenisedRow, ...]]


def imitation_loss(model_output: Any, data: Any, dp_group: object = None) -> tuple[Any, Any]:
    """Verl's loss of imitation, and the entropy that it does not measure."""
    loss, metrics = sft_loss(None, model_output, data, dp_group)
    taught = torch.roll(data["loss_mask"].values(), shifts=-1, dims=0)  # as in verl's loss
    entropy = masked_sum(model_output["entropy"].values().detach(), taught)
    return loss, {**metrics, ENTROPY: entropy.item() / data["batch_num_tokens"]}


class MeasuringWorker(TrainingWorker):  # type: ignore[misc]
    """verl's training process, which also answers prompts with the weights as they are."""

    def __init__(self, config: object) -> None:
        super().__init__(config)
        self._copy: tuple[PreTrainedModel, PreTrainedTokenizerBase] | None = None

    @register(
        dispatch_mode=make_nd_compute_dataproto_dispatch_fn(mesh_name="train"), blocking=False
    )  # type: ignore[untyped-decorator]
    def train_batch(self, data: Any) -> Any:
        """Train on a batch, with the entropy among the model's outputs."""
        tensordict_utils.assign_non_tensor(data, calculate_entropy=True)
        return super().train_batch(data)

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)  # type: ignore[untyped-decorator]
    def count_right(self, questions: SftQuestions) -> dict[str, int]:
        """How many prompts of this process's share of each set are answered rightly."""
        recipe = questions.recipe
        model, tokenizer = self._whole(questions)
        judge = Judge(tokenizer, preset_of(recipe.reward), recipe.think)
        accuracy = GreedyAccuracy(judge, recipe.max_new_tokens, recipe.precision)
        shares = {name: rows[self.rank :: self.world_size] for name, rows in questions.sets.items()}
        right = {
            name: round(len(rows) * accuracy(model, rows)) if rows else 0
            for name, rows in shares.items()
        }
        model.to("cpu")  # type: ignore[arg-type]
        get_torch_device().empty_cache()
        return right

    def _whole(self, questions: SftQuestions) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        """The copy with the present weights; every process walks through all of them."""
        if self._copy is None:
            self._copy = _load(questions.base, questions.recipe.precision)
        model, tokenizer = self._copy
        model.to(get_device_name())
        own = model.state_dict()
        with torch.no_grad():
            for name, tensor in self.engine.get_per_tensor_param()[0]:
                own[name].copy_(tensor)
        return model, tokenizer


def _load(base: str, precision: str) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load a model as for an evaluation, but at once in the precision it will have.

    In single precision first, the copies of all processes would fill a node's memory for a while.
    """
    model = AutoModelForCausalLM.from_pretrained(
        base,
        dtype=getattr(torch, precision),
        local_files_only=True,
        attn_implementation="sdpa",
    )
    use_faster_linear(model)
    model.forward = partial(_forward, model)
    return model.eval(), AutoTokenizer.from_pretrained(base, local_files_only=True)


def _forward(
    model: PreTrainedModel, *inputs: object, logits_to_keep: int | Tensor = 0, **named: object
) -> CausalLMOutputWithPast:
    """Compute logits as transformers does.

    verl's fused kernels replace the forward pass of the model's class, which then has none.
    """
    output = model.model(*inputs, **named)
    kept = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
    logits = model.lm_head(output.last_hidden_state[:, kept, :])
    return CausalLMOutputWithPast(logits=logits, past_key_values=output.past_key_values)
