"""Architectures whose results these passes reproduce."""

from __future__ import annotations

import torch
from transformers import LlamaForCausalLM, PreTrainedConfig, PreTrainedModel, Qwen2ForCausalLM

from pipeline.base.errors import UserError
from pipeline.engine.passes import ModulePasses
from pipeline.engine.shared_prefix import Prefix

TESTED = frozenset({"qwen2", "qwen3", "llama", "mistral", "gemma3_text", "phi", "phi3"})
"""Architectures whose logits and gradients the tests compare with transformers'."""

_TOKENS = (1, 2, 3, 4, 5, 6)
_TOLERANCE = 1e-3


def is_written_out(model: PreTrainedModel) -> bool:
    """This package also computes the model's layers without its modules."""
    config = model.config
    return (
        type(model) in (Qwen2ForCausalLM, LlamaForCausalLM)
        and config.rope_parameters.get("rope_type") in ("default", "llama3")
        and set(getattr(config, "layer_types", ["full_attention"])) == {"full_attention"}
        and not getattr(config, "attention_bias", False)
        and not getattr(config, "mlp_bias", False)
        and config.hidden_act == "silu"
    )


def context_of(config: PreTrainedConfig) -> int:
    """Longest input in tokens that a model takes here.

    Sliding-window layers get the whole text, which is equivalent up to the window's length.
    """
    kinds = getattr(config, "layer_types", None) or ["sliding_attention"]
    window = getattr(config, "sliding_window", None)
    slides = window is not None and "sliding_attention" in kinds
    longest = int(config.max_position_embeddings)
    return min(longest, int(window)) if slides and window else longest


def refuse_unfit(model: PreTrainedModel, longest: int = 0) -> None:
    """Refuse a model, or texts up to ``longest`` tokens, on which passes and transformers disagree.

    Architectures outside ``TESTED`` are tried on six tokens.
    """
    kind, context = model.config.model_type, context_of(model.config)
    if context < min(longest, model.config.max_position_embeddings):
        raise _unfit(
            kind,
            f"some see a window of {context} tokens, and train.max_prompt_tokens and "
            f"train.max_new_tokens allow {longest}",
        )
    if kind in TESTED:
        return
    # On few tokens a cap on the scores may not show.
    if getattr(model.config, "attn_logit_softcapping", None) is not None:
        raise _unfit(kind, "they cap the scores of attention")
    try:
        apart = _difference(model)
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise _unfit(kind, f"they cannot be run: {error}") from error
    if not apart <= _TOLERANCE:
        raise _unfit(kind, f"their logits are {apart:.2g} from transformers' on six tokens")


@torch.inference_mode()
def _difference(model: PreTrainedModel) -> float:
    """Largest difference of the last token's logits, relative to the largest logit."""
    plain = model(torch.tensor([_TOKENS], device=model.device), use_cache=False).logits[0, -1]
    passes, (first, rest) = ModulePasses(model), (_TOKENS[:4], _TOKENS[4:])
    prefix: Prefix = passes.encode([first]).prefix([len(first)], 1)
    ours = passes.encode_after([rest], prefix, [len(first)]).logits[0]
    return float((ours - plain).abs().max() / plain.abs().max())


def _unfit(kind: str, why: str) -> UserError:
    return UserError(
        f"the layers of {kind} models do not fit the local passes: {why}. Use engine vllm and "
        f"backend verl, or a model of another architecture; tested are {', '.join(sorted(TESTED))}"
    )
