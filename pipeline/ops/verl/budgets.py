"""How verl uses the accelerators that a cell was given, and why: settings with their reasons.

None of them changes what is learned. Processes on a CPU take all but what asks for a GPU.
"""

from __future__ import annotations

from pipeline.config.training import Train
from pipeline.formats.plural import counted
from pipeline.ops.verl.phases import FULL, Placement

Setting = bool | int | float | str
Reasons = dict[str, str]

_ACTOR, _REF, _ROLLOUT = (f"actor_rollout_ref.{part}" for part in ("actor", "ref", "rollout"))
_MODEL = "actor_rollout_ref.model"
_OFFLOADS = ("param_offload", "optimizer_offload")


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
    cut = (
        _token_budgets(placement, critic=critic)
        if _by_tokens(placement, packed=packed)
        else _sequence_counts(recipe, placement, critic=critic)
    )
    settings: dict[str, Setting] = {
        f"{_ACTOR}.strategy": "fsdp2",
        **cut,
        f"{_MODEL}.use_fused_kernels": True,
        f"{_ACTOR}.entropy_from_logits_with_chunking": True,
        f"{_REF}.entropy_from_logits_with_chunking": True,
        f"{_ROLLOUT}.mode": "async",
        f"{_ROLLOUT}.calculate_log_probs": True,
        f"{_ROLLOUT}.gpu_memory_utilization": placement.memory_utilization,
        "trainer.balance_batch": True,
        "trainer.save_freq": save_interval(recipe),
    }
    return settings | ({"critic.strategy": "fsdp2"} if critic else {})


def _by_tokens(placement: Placement, *, packed: bool) -> bool:
    """Whether micro-batches are filled by tokens.

    verl counts no padding: one long sequence among many short ones would take more memory than was
    planned. Nobody plans that of a CPU.
    """
    return packed or placement.on_cpu


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
    update, log_prob = sequences_at_once(recipe, placement)
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


def sequences_at_once(recipe: Train, placement: Placement) -> tuple[int, int]:
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
    """The largest divisor of a number up to a bound."""
    return next(size for size in range(min(count, most), 0, -1) if count % size == 0)


def save_interval(recipe: Train) -> int:
    """The steps between checkpoints: ``save_every``, up to the next validation.

    verl saves before it validates, so that a step can only turn out the best if it does both.
    """
    return -(-recipe.save_every // recipe.validate_every) * recipe.validate_every


def reasons(recipe: Train, placement: Placement, *, samples: bool, packed: bool) -> Reasons:
    """Why verl's settings of a plan are what they are, by their names; also verl's own.

    Args:
        recipe: The training recipe.
        placement: Where it trains.
        samples: Whether the cell learns from completions of its own.
        packed: Whether sequences are packed, and not padded.
    """
    return {
        **_scattered(placement),
        **_reading(recipe, placement, samples=samples, packed=packed),
        **_cutting(placement, packed=packed),
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
            "the same for entropies, in case fused kernels are switched off",
        ),
        f"{_ROLLOUT}.mode": "verl's default: completions are requested one by one and graded as "
        "they end",
        f"{_ROLLOUT}.calculate_log_probs": "verl's default: sampler and trainer are compared "
        "token by token",
        f"{_ROLLOUT}.gpu_memory_utilization": "usually 0.6; less if weights and optimiser stay "
        "on the accelerator, more if the cache of all completions needs more",
        "trainer.balance_batch": "verl's default: each accelerator gets about as many tokens",
        "trainer.save_freq": f"save_every ({recipe.save_every}), at a validation; the best saved "
        "step and the newest two are kept",
    }


def _reading(recipe: Train, placement: Placement, *, samples: bool, packed: bool) -> Reasons:
    """The reason of how attention reads sequences."""
    why = "packed sequences need FlashAttention: a GPU and half precision"
    if packed:
        size = sequences_at_once(recipe, placement)[0] if samples else placement.micro_batch
        why = (
            "where flash_attn is installed on the cluster's nodes; elsewhere the job takes torch's "
            f"attention (sdpa), and pads micro-batches of {counted(size, 'sequence')}"
        )
    return dict.fromkeys((f"{_MODEL}.use_remove_padding", "model.use_remove_padding"), why)


def _cutting(placement: Placement, *, packed: bool) -> Reasons:
    """The reasons of how micro-batches are cut."""
    dynamic, length = f"{_ACTOR}.use_dynamic_bsz", placement.longest
    if not _by_tokens(placement, packed=packed):
        return {
            dynamic: "micro-batches are counted in sequences: these are padded to the longest, so "
            "a budget of tokens could take more memory than was planned"
        }
    return {
        dynamic: "micro-batches are counted in tokens: most completions are far shorter than the "
        "longest allowed",
        f"{_ACTOR}.ppo_max_token_len_per_gpu": f"{placement.micro_batch} x {length}: as "
        "many as fit during the update, and at most 16 of the longest completions",
        **dict.fromkeys(
            (
                f"{_ROLLOUT}.log_prob_max_token_len_per_gpu",
                f"{_REF}.log_prob_max_token_len_per_gpu",
            ),
            f"{placement.log_prob_micro_batch} x {length}: nothing is kept for a backward pass, "
            "and the reference crosses the bus once for each micro-batch",
        ),
    }


def _scattered(placement: Placement) -> Reasons:
    """The reasons of settings that each model which is trained has."""
    full = f"even so, a phase fills {placement.fullness:.0%} of an accelerator"
    offload = (
        f"not needed: no phase fills more than {FULL:.0%} of an accelerator"
        if not placement.offload
        else f"{full}; above {FULL:.0%}, what a phase does not use moves to the node's memory"
    )
    if placement.offload and placement.fullness <= FULL:
        offload = f"without it a phase would fill more than {FULL:.0%} of an accelerator"
    sections = (f"{_ACTOR}.fsdp_config", "critic.fsdp", "engine")
    strategies = (f"{_ACTOR}.strategy", "critic.strategy", "engine.strategy")
    return {
        **dict.fromkeys(strategies, "the one whose checkpoints the job can merge"),
        **dict.fromkeys((f"{s}.{o}" for s in sections for o in _OFFLOADS), offload),
    }
