"""The critic of PPO: a copy of the base model whose vocabulary head is replaced by one number.

It shares no weights with the policy, so that neither loss disturbs the other. Its "logits" are
values.
"""

from __future__ import annotations

import copy

import torch
from torch import nn
from transformers import PreTrainedModel


def make_critic(base: PreTrainedModel) -> PreTrainedModel:
    """A critic whose initial values are 0."""
    critic = copy.deepcopy(base).requires_grad_(True)
    critic.config.tie_word_embeddings = False
    head = nn.Linear(critic.config.hidden_size, 1, device=critic.device)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    critic.set_output_embeddings(head)
    return critic


def explained_variance(values: torch.Tensor, returns: torch.Tensor) -> float:
    """The share of the returns' variance that the values explain, both [N] (0 without variance)."""
    if returns.numel() < 2 or float(returns.var()) == 0:
        return 0.0
    return float(1 - (returns - values).var() / returns.var())
