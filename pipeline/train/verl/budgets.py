"""How verl uses the accelerators that a cell was given, and why: settings with their reasons.

None of them changes what is learned. Processes on a CPU take all but what asks for a GPU.
"""

from __future__ import annotations

from pipeline.config.training import Train
from pipeline.train.verl.phases import FULL, Placement

Setting = bool | int | float | str
Reasons = dict[str, str]

_ACTOR, _REF, _ROLLOUT = (f"actor_rollout_ref.{part}" for part in ("actor", "ref", "rollout"))
_MODEL = "actor_rollout_ref.model"
_OFFLOADS = ("param_offload", "optimizer_offload")


def budget_settings(recipe: Train, placement: Placement, *, critic: bool) -> dict[str, Setting]:
    """Return the settings of a cell that learns from completions of its own."""
    settings: dict[str, Setting] = {
        f"{_ACTOR}.strategy": "fsdp2",
        f"{_ACTOR}.use_dynamic_bsz": True,
        f"{_ACTOR}.ppo_max_token_len_per_gpu": placement.update_tokens,
        f"{_ROLLOUT}.log_prob_max_token_len_per_gpu": placement.log_prob_tokens,
        f"{_REF}.log_prob_max_token_len_per_gpu": placement.log_prob_tokens,
        f"{_MODEL}.use_fused_kernels": True,
        f"{_ACTOR}.entropy_from_logits_with_chunking": True,
        f"{_REF}.entropy_from_logits_with_chunking": True,
        f"{_ROLLOUT}.mode": "async",
        f"{_ROLLOUT}.calculate_log_probs": True,
        f"{_ROLLOUT}.gpu_memory_utilization": placement.memory_utilization,
        "trainer.balance_batch": True,
        "trainer.save_freq": save_interval(recipe),
    }
    if critic:
        settings |= {
            "critic.strategy": "fsdp2",
            "critic.ppo_max_token_len_per_gpu": placement.update_tokens,
            "critic.forward_max_token_len_per_gpu": placement.update_tokens,
            # verl 0.9.1 reads the critic's budget from this one, which its schema lacks.
            "+critic.ppo_infer_max_token_len_per_gpu": placement.update_tokens,
        }
    return settings


def save_interval(recipe: Train) -> int:
    """Return the steps between checkpoints: ``save_every``, up to the next validation.

    verl saves before it validates, so that a step can only turn out the best if it does both.
    """
    return -(-recipe.save_every // recipe.validate_every) * recipe.validate_every


def reasons(recipe: Train, placement: Placement) -> Reasons:
    """Return why verl's settings of a plan are what they are, by their names; also verl's own."""
    length = placement.longest
    return {
        **_scattered(placement),
        f"{_ACTOR}.use_dynamic_bsz": "micro-batches are filled by tokens: answers are mostly far "
        "shorter than the longest allowed",
        f"{_ACTOR}.ppo_max_token_len_per_gpu": f"{placement.micro_batch} x {length}: as "
        "much as the update's memory holds, and at most 16 of the longest completions",
        **dict.fromkeys(
            (
                f"{_ROLLOUT}.log_prob_max_token_len_per_gpu",
                f"{_REF}.log_prob_max_token_len_per_gpu",
            ),
            f"{placement.log_prob_micro_batch} x {length}: nothing is kept for a backward pass, "
            "and the reference crosses the bus once for each micro-batch",
        ),
        **dict.fromkeys(
            (f"{_MODEL}.use_fused_kernels", "model.use_fused_kernels"),
            "logits of 512 tokens at a time, not of the whole micro-batch",
        ),
        **dict.fromkeys(
            (
                f"{_ACTOR}.entropy_from_logits_with_chunking",
                f"{_REF}.entropy_from_logits_with_chunking",
                "engine.entropy_from_logits_with_chunking",
            ),
            "the same for entropies, should fused kernels be switched off",
        ),
        f"{_ROLLOUT}.mode": "verl's own: completions are asked for one by one and graded as they "
        "end",
        f"{_ROLLOUT}.calculate_log_probs": "verl's own: sampler and trainer are compared token by "
        "token",
        f"{_ROLLOUT}.gpu_memory_utilization": "usually 0.6; less where weights and optimiser "
        "stay, more where the cache of all completions takes more",
        "trainer.balance_batch": "verl's own: each accelerator gets as many tokens",
        "trainer.save_freq": f"save_every ({recipe.save_every}), at a validation; the best saved "
        "and the newest two are kept",
    }


def _scattered(placement: Placement) -> Reasons:
    """Return the reasons of settings that each model which is trained has."""
    full = f"a phase would fill {placement.fullness:.0%} of an accelerator"
    offload = (
        f"nothing waits elsewhere: no phase fills more than {FULL:.0%} of an accelerator"
        if not placement.offload
        else f"{full}; above {FULL:.0%} what a phase does not use waits in the node's memory"
    )
    if placement.offload and placement.fullness <= FULL:
        offload = f"without it a phase would fill more than {FULL:.0%} of an accelerator"
    sections = (f"{_ACTOR}.fsdp_config", "critic.fsdp", "engine")
    strategies = (f"{_ACTOR}.strategy", "critic.strategy", "engine.strategy")
    return {
        **dict.fromkeys(strategies, "the one that checkpoints are merged from, here as in tests"),
        **dict.fromkeys((f"{s}.{o}" for s in sections for o in _OFFLOADS), offload),
    }
