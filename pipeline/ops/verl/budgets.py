"""How verl uses the accelerators that a cell was given: settings that change nothing of what it
learns.
"""

from __future__ import annotations

from pipeline.config.training import Train
from pipeline.ops.verl.phases import Placement

Setting = bool | int | float | str

_ACTOR, _REF, _ROLLOUT = (f"actor_rollout_ref.{part}" for part in ("actor", "ref", "rollout"))
_MODEL = "actor_rollout_ref.model"


def budget_settings(
    recipe: Train, placement: Placement, *, critic: bool, packed: bool
) -> dict[str, Setting]:
    """The settings of a cell that learns from completions of its own.

    Args:
        recipe: The training recipe.
        placement: Where it trains.
        critic: Whether it trains a critic too.
        packed: Whether sequences are packed, and not padded.
    """
    # verl counts no padding in a budget of tokens: one long sequence among many short ones would
    # take more memory than was planned.
    cut = (
        _token_budgets(placement, critic=critic)
        if packed
        else _sequence_counts(recipe, placement, critic=critic)
    )
    settings: dict[str, Setting] = {
        f"{_ACTOR}.strategy": "fsdp2",  # whose checkpoints the job can merge
        **cut,
        f"{_MODEL}.use_fused_kernels": True,  # logits of 512 tokens at a time
        # The same for entropies, should a study switch fused kernels off.
        f"{_ACTOR}.entropy_from_logits_with_chunking": True,
        f"{_REF}.entropy_from_logits_with_chunking": True,
        f"{_ROLLOUT}.mode": "async",
        f"{_ROLLOUT}.calculate_log_probs": True,
        f"{_ROLLOUT}.gpu_memory_utilization": placement.memory_utilization,
        "trainer.balance_batch": True,
        "trainer.save_freq": save_interval(recipe),
    }
    return settings | ({"critic.strategy": "fsdp2"} if critic else {})


def _token_budgets(placement: Placement, *, critic: bool) -> dict[str, Setting]:
    update, log_prob = placement.update_tokens, placement.log_prob_tokens
    settings: dict[str, Setting] = {
        f"{_ACTOR}.use_dynamic_bsz": True,
        f"{_ACTOR}.ppo_max_token_len_per_gpu": update,
        f"{_ROLLOUT}.log_prob_max_token_len_per_gpu": log_prob,
        f"{_REF}.log_prob_max_token_len_per_gpu": log_prob,
    }
    if critic:
        settings |= {
            "critic.ppo_max_token_len_per_gpu": update,
            "critic.forward_max_token_len_per_gpu": update,
            # verl 0.9.1 reads the critic's budget from this one, which its schema lacks.
            "+critic.ppo_infer_max_token_len_per_gpu": update,
        }
    return settings


def _sequence_counts(recipe: Train, placement: Placement, *, critic: bool) -> dict[str, Setting]:
    update, log_prob = _sequences_at_once(recipe, placement)
    settings: dict[str, Setting] = {
        f"{_ACTOR}.use_dynamic_bsz": False,
        f"{_ACTOR}.ppo_micro_batch_size_per_gpu": update,
        f"{_ROLLOUT}.log_prob_micro_batch_size_per_gpu": log_prob,
        f"{_REF}.log_prob_micro_batch_size_per_gpu": log_prob,
    }
    if critic:
        settings |= {
            "critic.ppo_micro_batch_size_per_gpu": update,
            # verl 0.9.1 cuts the critic's work by these, which its schema lacks.
            "+critic.fsdp.use_dynamic_bsz": False,
            "+critic.fsdp.micro_batch_size_per_gpu": update,
            "+critic.fsdp.infer_micro_batch_size_per_gpu": update,
        }
    return settings


def _sequences_at_once(recipe: Train, placement: Placement) -> tuple[int, int]:
    """The sequences of a micro-batch that is padded, of updates and of log-probabilities.

    verl wants a divisor of those of an accelerator.
    """
    scored = recipe.prompts_per_step * recipe.rollouts // placement.ranks
    updated = scored // recipe.updates_per_batch
    return (
        _divisor(updated, placement.micro_batch),
        _divisor(scored, placement.log_prob_micro_batch),
    )


def _divisor(count: int, most: int) -> int:
    return next(size for size in range(min(count, most), 0, -1) if count % size == 0)


def save_interval(recipe: Train) -> int:
    """The steps between checkpoints: ``save_every``, up to the next validation.

    verl saves before it validates, so that a step can only turn out the best if it does both.
    """
    return -(-recipe.save_every // recipe.validate_every) * recipe.validate_every
