"""Lets verl load PPO's critic with the attention that its configuration names.

verl 0.9.1 asks for FlashAttention whatever that says, and fails where it is not installed. verl
imports this module in each of its processes where ``VERL_USE_EXTERNAL_MODULES`` names it.
"""

from __future__ import annotations

import verl.utils.model as models
from transformers import AutoModelForTokenClassification, PretrainedConfig, PreTrainedModel


def load_valuehead_model(
    local_path: str, torch_dtype: object, model_config: PretrainedConfig, trust_remote_code: bool
) -> PreTrainedModel:
    """Load a critic; takes the place of verl's function of this name."""
    critic: PreTrainedModel = AutoModelForTokenClassification.from_pretrained(
        local_path, dtype=torch_dtype, config=model_config
    )
    return critic


models.load_valuehead_model = load_valuehead_model
