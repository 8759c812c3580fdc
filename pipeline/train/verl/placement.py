"""Where a cell's training goes: accelerators, and what each of them holds.

verl trains and samples on the same accelerators in turn. While it updates, every accelerator holds
its share of the weights, gradients and optimiser state (FSDP, float32), and the activations of one
micro-batch; vLLM sleeps. While it samples, vLLM holds a copy of the weights and the key-value
cache, beside whatever FSDP has not moved to the node's own memory. The reference model is always in
the node's memory (verl 0.9.1, ``workers/engine/fsdp/transformer_impl.py``, ``forward_only``).

A cell that imitates samples nothing and has no reference model. What it holds while it is measured
is written in the place of sampling: on every accelerator a whole copy of the weights with the cache
of the prompts that are decoded at once (``sft_worker.py``).

All figures are bytes for one accelerator. Weights, gradients and optimiser state are exact; the
rest is an estimate for sequences of the longest length the recipe allows, so that a margin is kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from pipeline.config.algorithms import Algorithm
from pipeline.config.training import Accelerator, Cluster, Train
from pipeline.errors import UserError
from pipeline.train.shape import Shape

GIB = 2**30
MEMORY: dict[str, float] = {"a100-40": 39.4, "a100-80": 79.2, "h100": 79.2, "h200": 139.8}
"""GiB that CUDA offers on each accelerator (NVIDIA's data sheets, less what the driver keeps)."""

GPUS_PER_NODE = (1, 2, 4, 8)
_FLOAT = 4
_MARGIN = 0.08  # of everything: fragmentation, temporary buffers
_LIBRARIES = 2 * GIB  # CUDA contexts and NCCL buffers of the trainer and of vLLM
_SYNC = 2 * GIB  # verl's bucket for new weights: rollout.checkpoint_engine, 2048 MB
_SAMPLER = 2 * GIB  # vLLM's own activations, logits and CUDA graphs
_MOST_PER_MICRO_BATCH = 16
_CPU_UTILIZATION = 0.3  # nobody reads it there, but verl wants a number
_DECODED_AT_ONCE = 100  # prompts, by :mod:`pipeline.train.probe`


@dataclass(frozen=True)
class Placement:
    """Where a cell trains and how its work is cut.

    Attributes:
        accelerator: Kind of accelerator.
        nodes: Nodes.
        gpus: Accelerators per node (processes, on CPU).
        tensor_parallel: Accelerators that one copy of the rollout model spans.
        offload: Whether weights and optimiser state wait in the node's memory between steps.
        gradient_checkpointing: Whether activations are recomputed.
        micro_batch: Sequences that one accelerator takes through forward and backward at once.
        log_prob_micro_batch: The same without a backward pass.
        memory_utilization: Share of an accelerator's memory that vLLM may take.
        update: Bytes per accelerator during the update, by what they hold.
        rollout: Bytes per accelerator during sampling, by what they hold.
        host: Bytes in the memory of each node, by what they hold.
        capacity: Bytes that an accelerator offers; None on CPU, where nothing is checked.
    """

    accelerator: Accelerator
    nodes: int
    gpus: int
    tensor_parallel: int
    offload: bool
    gradient_checkpointing: bool
    micro_batch: int
    log_prob_micro_batch: int
    memory_utilization: float
    update: dict[str, int]
    rollout: dict[str, int]
    host: dict[str, int]
    capacity: int | None

    @property
    def ranks(self) -> int:
        """Return the number of accelerators in all."""
        return self.nodes * self.gpus

    @property
    def on_cpu(self) -> bool:
        """Return whether there is no accelerator."""
        return self.accelerator == "cpu"

    @property
    def peaks(self) -> tuple[int, int]:
        """Return the bytes held during update and sampling, margin included."""
        return _with_margin(self.update), _with_margin(self.rollout)

    @property
    def fits(self) -> bool:
        """Return whether both phases fit."""
        return self.capacity is None or max(self.peaks) <= self.capacity

    def describe(self) -> str:
        """Return the place in words, such as ``2 x a100-80`` or ``2 nodes x 8 x h100``."""
        nodes = f"{self.nodes} nodes x " if self.nodes > 1 else ""
        return f"{nodes}{self.gpus} x {self.accelerator}"


def place(
    shape: Shape,
    recipe: Train,
    algorithm: Algorithm,
    cluster: Cluster,
    model_kind: Literal["tiny", "hub", "api", "recorded"] = "hub",
) -> Placement:
    """Return the placement of a training run: the smallest that fits, within what is asked for.

    Args:
        shape: Of the policy.
        recipe: The training recipe.
        algorithm: The algorithm; one with a critic holds another model.
        cluster: What the study asks for.
        model_kind: Kind of the base model: ``auto`` puts tiny models on CPU.

    Raises:
        UserError: If nothing fits, or the batch does not divide among the accelerators; with the
            numbers, and with what would fit.
    """
    accelerator = cluster.accelerator
    if accelerator == "auto":
        accelerator = "cpu" if model_kind == "tiny" else "a100-80"
    # The fewest accelerators win, and on them the fastest way. What comes nearest to fitting is
    # kept for the error message.
    best: Placement | None = None
    for gpus in _gpu_counts(cluster, accelerator, recipe, algorithm):
        for found in _options(shape, recipe, algorithm, cluster, accelerator, gpus):
            if found.fits:
                return found
            if best is None or max(found.peaks) < max(best.peaks):
                best = found
    assert best is not None
    raise _too_big(best, shape, recipe, algorithm, cluster)


def _gpu_counts(
    cluster: Cluster, accelerator: Accelerator, recipe: Train, algorithm: Algorithm
) -> list[int]:
    """Return the accelerators per node to try; each must divide the work of an update."""
    sequences = _sequences_per_update(recipe, algorithm)
    asked = cluster.gpus
    tried = (1,) if accelerator == "cpu" else GPUS_PER_NODE
    counts = [asked] if asked else list(tried)
    # verl gives each rank the same number of sequences and refuses to start with a remainder.
    usable = [gpus for gpus in counts if sequences % (gpus * cluster.nodes) == 0]
    if not usable:
        found = asked or counts[0]
        raise UserError(
            f"train.cluster: {cluster.nodes} nodes with {found} accelerators each cannot share "
            f"{sequences} completions evenly (prompts_per_step {recipe.prompts_per_step}"
            f"{_per_prompt(recipe, algorithm)}); allowed: a number that divides {sequences}"
        )
    if cluster.tensor_parallel:
        usable = [gpus for gpus in usable if gpus % cluster.tensor_parallel == 0]
    if not usable:
        raise UserError(
            f"train.cluster.tensor_parallel: found {cluster.tensor_parallel}; allowed: a divisor "
            f"of the accelerators per node ({', '.join(map(str, counts))})"
        )
    return usable


def _per_prompt(recipe: Train, algorithm: Algorithm) -> str:
    if not algorithm.samples:
        return " x 1"
    return f" x rollouts {recipe.rollouts} / updates_per_batch {recipe.updates_per_batch}"


def _sequences_per_update(recipe: Train, algorithm: Algorithm) -> int:
    """Return the completions of one optimiser step."""
    if not algorithm.samples:
        return recipe.prompts_per_step
    if recipe.prompts_per_step % recipe.updates_per_batch:
        raise UserError(
            f"train.updates_per_batch: found {recipe.updates_per_batch}; with verl it must divide "
            f"prompts_per_step ({recipe.prompts_per_step})"
        )
    return recipe.prompts_per_step // recipe.updates_per_batch * recipe.rollouts


def _options(
    shape: Shape,
    recipe: Train,
    algorithm: Algorithm,
    cluster: Cluster,
    accelerator: Accelerator,
    gpus: int,
) -> Iterator[Placement]:
    """Yield placements on so many accelerators, the fastest first."""
    # Offload costs a copy over the bus in every phase, so it is tried last; a wider spread of the
    # rollout model costs communication in every token; smaller micro-batches idle the accelerator.
    offloads = (False, True) if cluster.offload is None else (cluster.offload,)
    if accelerator == "cpu":
        offloads = (cluster.offload or False,)
    ranks = gpus * cluster.nodes
    sizes = _micro_batches(recipe, _sequences_per_update(recipe, algorithm) // ranks)
    for offload in offloads:
        for tensor_parallel in _tensor_parallels(shape, cluster, algorithm, accelerator, gpus):
            for micro_batch in sizes:
                yield _plan(
                    shape,
                    recipe,
                    algorithm,
                    accelerator=accelerator,
                    nodes=cluster.nodes,
                    gpus=gpus,
                    tensor_parallel=tensor_parallel,
                    offload=offload,
                    micro_batch=micro_batch,
                )


def _micro_batches(recipe: Train, sequences: int) -> list[int]:
    """Return the micro-batches that divide the work of an accelerator, the largest first."""
    length = recipe.max_prompt_tokens + recipe.max_new_tokens
    most = _MOST_PER_MICRO_BATCH
    if recipe.tokens_per_micro_batch is not None:
        most = min(most, max(1, recipe.tokens_per_micro_batch // length))
    return [size for size in range(min(sequences, most), 0, -1) if sequences % size == 0]


def _tensor_parallels(
    shape: Shape, cluster: Cluster, algorithm: Algorithm, accelerator: Accelerator, gpus: int
) -> list[int]:
    """Return the ways to spread the rollout model; vLLM's heads must divide."""
    if accelerator == "cpu" or not algorithm.samples:
        return [1]
    if cluster.tensor_parallel:
        return [cluster.tensor_parallel]
    heads, key_values = shape.num_attention_heads, shape.num_key_value_heads
    return [
        count
        for count in GPUS_PER_NODE
        if gpus % count == 0
        and heads % count == 0
        and (key_values % count == 0 or count % key_values == 0)
    ]


def _plan(
    shape: Shape,
    recipe: Train,
    algorithm: Algorithm,
    *,
    accelerator: Accelerator,
    nodes: int,
    gpus: int,
    tensor_parallel: int,
    offload: bool,
    micro_batch: int,
) -> Placement:
    on_cpu, ranks = accelerator == "cpu", nodes * gpus
    size = 2 if recipe.precision == "bfloat16" else _FLOAT
    recompute = recipe.gradient_checkpointing or not on_cpu
    policy = _trained(shape.parameters, ranks)
    critic = _trained(shape.trunk if algorithm.critic else 0, ranks)
    # On accelerators the cache gets what is left in the end (_with_cache): a small one makes vLLM
    # sample in turns, which is slow but works, so that only one completion's must fit.
    least, wanted = _cache(shape, recipe, size, ranks, tensor_parallel)
    if not algorithm.samples:
        least = wanted = least * _DECODED_AT_ONCE
    # Without offload each of policy and critic stays while the other is updated.
    waits = 0 if offload else critic["parameters"] + critic["optimiser"]
    placement = Placement(
        accelerator=accelerator,
        nodes=nodes,
        gpus=gpus,
        tensor_parallel=tensor_parallel,
        offload=offload,
        gradient_checkpointing=recompute,
        micro_batch=micro_batch,
        log_prob_micro_batch=micro_batch,
        memory_utilization=_CPU_UTILIZATION,
        update={
            **policy,
            "critic": waits,
            "gathered layers": _gathered(shape, size),
            "activations": _activations(shape, recipe, micro_batch, size, recompute),
            "logits": _logits(shape, recipe, micro_batch, size),
            "libraries": 0 if on_cpu else _LIBRARIES,
        },
        rollout={
            "parameters": 0 if offload else policy["parameters"],
            "optimiser": 0 if offload else policy["optimiser"],
            "critic": waits,
            "rollout weights": shape.parameters * size // tensor_parallel,
            "cache": wanted if on_cpu else least,
            "sampler": 0 if on_cpu else _SAMPLER,
            "new weights": 0 if on_cpu else _SYNC,
            "libraries": 0 if on_cpu else _LIBRARIES,
        },
        host={
            **_waiting(shape, algorithm, size, nodes, gpus),
            "offloaded": gpus * (sum(policy.values()) + sum(critic.values())) if offload else 0,
        },
        capacity=None if on_cpu else round(MEMORY[accelerator] * GIB),
    )
    return placement if on_cpu or not algorithm.samples else _with_cache(placement, wanted)


def _waiting(
    shape: Shape, algorithm: Algorithm, size: int, nodes: int, gpus: int
) -> dict[str, int]:
    """Return what waits in a node's memory: the reference model, or each accelerator's copy."""
    if algorithm.reference:
        return {"reference": shape.parameters * _FLOAT // nodes}
    return {"copies": shape.parameters * size * gpus}


def _with_cache(placement: Placement, wanted: int) -> Placement:
    """Give the key-value cache what it can use of the memory that is left."""
    assert placement.capacity is not None
    rollout = placement.rollout
    free = placement.capacity - _with_margin(rollout)
    cache = rollout["cache"] + max(0, min(wanted - rollout["cache"], int(free / (1 + _MARGIN))))
    rollout = {**rollout, "cache": cache}
    share = (rollout["rollout weights"] + cache + rollout["sampler"]) / placement.capacity
    # Up to the next hundredth, so that the cache is not cut short by rounding.
    utilization = min(0.95, math.ceil(share * 100) / 100)
    return replace(placement, rollout=rollout, memory_utilization=utilization)


def _trained(parameters: int, ranks: int) -> dict[str, int]:
    """Return what each rank holds of a model that is trained: FSDP keeps float32."""
    weights = parameters * _FLOAT // ranks
    return {"parameters": weights, "gradients": weights, "optimiser": 2 * weights}


def _gathered(shape: Shape, size: int) -> int:
    """Return what FSDP collects to compute: the vocabulary's weights, and two layers in turn.

    The gradients of the same weights are there before they are scattered.
    """
    vocabulary = shape.vocab_size * shape.hidden_size
    ends = vocabulary if shape.tie_word_embeddings else 2 * vocabulary
    layer = (shape.trunk - vocabulary) // shape.num_hidden_layers
    return 2 * (ends + 2 * layer) * size


def _activations(shape: Shape, recipe: Train, rows: int, size: int, recompute: bool) -> int:
    """Return what the backward pass of a micro-batch needs."""
    tokens = rows * (recipe.max_prompt_tokens + recipe.max_new_tokens)
    hidden, inner = shape.hidden_size, shape.intermediate_size
    key_value = shape.num_key_value_heads * shape.head_size
    # Per token and layer: normalised inputs and residuals in float32; queries, keys and values
    # before and after rotation, attention output, three inner products.
    layer = 6 * hidden * _FLOAT + (4 * hidden + 5 * key_value + 4 * inner) * size
    layers = shape.num_hidden_layers
    return tokens * (layers * hidden * size + layer if recompute else layers * layer)


def _logits(shape: Shape, recipe: Train, rows: int, size: int) -> int:
    """Return the logits of a micro-batch, the float32 copy that entropies need, and the gradient.

    verl computes them on prompts too.
    """
    tokens = rows * (recipe.max_prompt_tokens + recipe.max_new_tokens)
    return tokens * shape.vocab_size * (2 * size + _FLOAT)


def _cache(
    shape: Shape, recipe: Train, size: int, ranks: int, tensor_parallel: int
) -> tuple[int, int]:
    """Return the cache of one completion, and that of all completions of a step."""
    length = recipe.max_prompt_tokens + recipe.max_new_tokens
    heads = max(1, shape.num_key_value_heads // tensor_parallel)
    one = 2 * shape.num_hidden_layers * heads * shape.head_size * size * length
    copies = ranks // tensor_parallel
    return one, one * -(-recipe.prompts_per_step * recipe.rollouts // copies)


def _with_margin(items: dict[str, int]) -> int:
    return round((1 + _MARGIN) * sum(items.values()))


def _too_big(
    best: Placement, shape: Shape, recipe: Train, algorithm: Algorithm, cluster: Cluster
) -> UserError:
    """Return the error of a plan that does not fit, with its numbers and one that would."""
    assert best.capacity is not None
    update, rollout = best.peaks
    phase, items = ("update", best.update) if update >= rollout else ("sampling", best.rollout)
    largest = sorted(items.items(), key=lambda item: -item[1])[:4]
    parts = ", ".join(f"{name} {held / GIB:.1f}" for name, held in largest)
    return UserError(
        f"train.cluster: {shape.parameters / 1e9:.1f} billion parameters with {algorithm.name} "
        f"do not fit on {best.describe()}: {phase} needs {max(best.peaks) / GIB:.1f} GiB on each, "
        f"it has {best.capacity / GIB:.1f} ({parts} GiB). "
        f"{_would_fit(shape, recipe, algorithm, cluster, best)}"
    )


def _would_fit(
    shape: Shape, recipe: Train, algorithm: Algorithm, cluster: Cluster, best: Placement
) -> str:
    """Return the smallest placement that fits, or that none does."""
    for nodes in (best.nodes, *(n for n in (1, 2, 4, 8) if n > best.nodes)):
        loose = cluster.model_copy(
            update={
                "accelerator": best.accelerator,
                "nodes": nodes,
                "gpus": None,
                "offload": None,
                "tensor_parallel": None,
            }
        )
        for gpus in GPUS_PER_NODE:
            if _sequences_per_update(recipe, algorithm) % (gpus * nodes):
                continue
            for found in _options(shape, recipe, algorithm, loose, best.accelerator, gpus):
                if found.fits:
                    needs = f"set nodes: {nodes} and gpus: {gpus}"
                    return f"It would fit on {found.describe()}: {needs}"
    larger = [name for name, size in MEMORY.items() if size > MEMORY[best.accelerator]]
    return (
        f"No number of {best.accelerator} fits: lower max_prompt_tokens or max_new_tokens, or "
        f"choose a larger accelerator ({', '.join(larger) or 'there is none'})"
    )
