"""What training on given accelerators holds, and how its work is cut.

verl samples, scores and updates on the same accelerators in turn. While it updates, every
accelerator holds its share of the weights, gradients and optimiser state (FSDP, float32), and the
activations of one micro-batch; vLLM sleeps. While it scores, it takes log-probabilities of what was
sampled, without a backward pass. While it samples, vLLM holds a copy of the weights and the
key-value cache, beside whatever FSDP has not moved to the node's own memory. The reference model is
always in the node's memory (verl 0.9.1, ``workers/engine/fsdp/transformer_impl.py``,
``forward_only``).

A cell that imitates samples nothing and has no reference model.

All figures are bytes for one accelerator, see :mod:`pipeline.ops.verl.memory`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pipeline.config.algorithms import Algorithm
from pipeline.config.training import Accelerator, Train
from pipeline.ops.verl import memory
from pipeline.ops.verl.memory import FLOAT, MARGIN, longest, with_margin
from pipeline.train.accelerators import GIB, capacity
from pipeline.train.shape import Shape

FULL = 0.88
"""Share of an accelerator's memory up to which vLLM's cache grows, margin included."""
_LIBRARIES = 2 * GIB  # CUDA contexts and NCCL buffers of the trainer and of vLLM
_SYNC = 2 * GIB  # verl's bucket for new weights: rollout.checkpoint_engine, 2048 MB
_SAMPLER = 2 * GIB  # vLLM's own activations, logits and CUDA graphs
_ASLEEP = GIB  # of these, the graphs, which stay while it sleeps
_SCORED = 4  # times as many sequences without a backward pass
_USUAL_UTILIZATION, _MOST_UTILIZATION = 0.6, 0.9


@dataclass(frozen=True)
class Placement:
    """Where a cell trains and how its work is cut.

    Attributes:
        accelerator: Kind of accelerator.
        nodes: Nodes.
        gpus: Accelerators per node.
        tensor_parallel: Accelerators that one copy of the rollout model spans.
        offload: Whether weights and optimiser state wait in the node's memory between steps.
        longest: Tokens of the longest sequence.
        micro_batch: Sequences of that length that one accelerator takes through forward and
            backward at once; of shorter ones, as many as have as many tokens.
        log_prob_micro_batch: The same without a backward pass.
        memory_utilization: Share of an accelerator's memory that vLLM may take.
        update: Bytes per accelerator during the update, by what they hold.
        scoring: Bytes per accelerator while log-probabilities are taken, by what they hold.
        rollout: Bytes per accelerator during sampling, by what they hold.
        host: Bytes in the memory of each node, by what they hold.
        capacity: Bytes that an accelerator offers.
    """

    accelerator: Accelerator
    nodes: int
    gpus: int
    tensor_parallel: int
    offload: bool
    longest: int
    micro_batch: int
    log_prob_micro_batch: int
    memory_utilization: float
    update: dict[str, int]
    scoring: dict[str, int]
    rollout: dict[str, int]
    host: dict[str, int]
    capacity: int

    @property
    def ranks(self) -> int:
        return self.nodes * self.gpus

    @property
    def update_tokens(self) -> int:
        """The tokens that an accelerator takes through forward and backward at once."""
        return self.micro_batch * self.longest

    @property
    def log_prob_tokens(self) -> int:
        """The tokens that an accelerator takes through a forward pass alone at once."""
        return self.log_prob_micro_batch * self.longest

    @property
    def phases(self) -> dict[str, dict[str, int]]:
        return {"update": self.update, "scoring": self.scoring, "sampling": self.rollout}

    @property
    def peaks(self) -> dict[str, int]:
        return {phase: with_margin(items) for phase, items in self.phases.items()}

    @property
    def peak(self) -> int:
        return max(self.peaks.values())

    @property
    def fits(self) -> bool:
        return self.peak <= self.capacity

    def describe(self) -> str:
        """The place in words, such as ``2 x a100-80`` or ``2 nodes x 8 x h100``."""
        nodes = f"{self.nodes} nodes x " if self.nodes > 1 else ""
        return f"{nodes}{self.gpus} x {self.accelerator}"


def plan_on(
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
    memory_each: float | None = None,
) -> Placement:
    """What training on given accelerators, in a given way, holds.

    Args:
        shape: Of the policy.
        recipe: The training recipe.
        algorithm: The algorithm.
        accelerator: Kind of accelerator.
        nodes: Nodes.
        gpus: Accelerators per node.
        tensor_parallel: Accelerators that one copy of the rollout model spans.
        offload: Whether weights and optimiser state wait in the node's memory between steps.
        micro_batch: Longest sequences that go through forward and backward at once.
        memory_each: GiB of an accelerator, where that is not what its kind has.
    """
    ranks = nodes * gpus
    size = FLOAT if recipe.precision == "float32" else 2
    adapters = shape.adapters(recipe.lora.rank) if recipe.lora else 0
    policy = memory.trained(shape.parameters, ranks, adapters, memory.frozen(recipe))
    critic = memory.trained(shape.trunk if algorithm.critic else 0, ranks)
    completions = -(-recipe.prompts_per_step * recipe.rollouts // ranks)
    scored = max(micro_batch, min(_SCORED * micro_batch, completions)) if algorithm.samples else 0
    layers = memory.gathered(shape, size)
    # Without offload each of policy and critic stays while the other is updated.
    waits = {"critic": 0 if offload else critic["parameters"] + critic["optimiser"]}
    optimiser = {"optimiser": 0 if offload else policy["optimiser"]}
    beside = {"sleeping sampler": _ASLEEP if algorithm.samples else 0, "libraries": _LIBRARIES}

    def computing(sequences: int, *, learns: bool) -> dict[str, int]:
        tokens = sequences * longest(recipe)
        passes = memory.activations if learns else memory.passing
        return {
            # With the gradients of layers, before these are scattered; adapters' are thin.
            "gathered layers": (2 if learns and not recipe.lora else 1) * layers,
            "activations": passes(shape, tokens, size),
            "logits": memory.logits(shape, recipe, tokens, size, learns=learns),
        }

    kept = {"parameters": policy["parameters"]}
    scoring = {**kept, **optimiser, **waits, **computing(scored, learns=False), **beside}
    rollout = {
        # Adapters are added up on the accelerator, where the sampler's weights are by then.
        "parameters": 0 if offload and not recipe.lora else policy["parameters"],
        **optimiser,
        **waits,
        "rollout weights": shape.parameters * size // tensor_parallel,
        "cache": memory.cache_of_one(shape, recipe, size, tensor_parallel),
        "sampler": _SAMPLER,
        "new weights": _SYNC,
        "libraries": _LIBRARIES,
    }
    room = capacity(accelerator, memory_each)
    share = _USUAL_UTILIZATION
    if algorithm.samples:
        share, rollout["cache"] = _sampling(rollout, completions * tensor_parallel, room)
    return Placement(
        accelerator=accelerator,
        nodes=nodes,
        gpus=gpus,
        tensor_parallel=tensor_parallel,
        offload=offload,
        longest=longest(recipe),
        micro_batch=micro_batch,
        log_prob_micro_batch=scored or micro_batch,
        memory_utilization=share,
        update={**policy, **waits, **computing(micro_batch, learns=True), **beside},
        scoring=scoring if algorithm.samples else {},
        rollout=rollout if algorithm.samples else {},
        host={
            **_waiting(shape, recipe, algorithm, nodes, gpus),
            "offloaded": gpus * (sum(policy.values()) + sum(critic.values())) if offload else 0,
        },
        capacity=room,
    )


def _waiting(
    shape: Shape, recipe: Train, algorithm: Algorithm, nodes: int, gpus: int
) -> dict[str, int]:
    """What waits in a node's memory: the reference model.

    With adapters the reference model is the policy without them; its weights are kept while
    adapters are added to them.
    """
    # Each process of a model with one vocabulary for both ends loads all of it, else the first.
    loading = (gpus if shape.tie_word_embeddings else 1) * shape.parameters * memory.frozen(recipe)
    waits = {}
    if recipe.lora:
        waits["before adapters"] = shape.parameters * memory.frozen(recipe) // nodes
    elif algorithm.reference:
        waits["reference"] = shape.parameters * FLOAT // nodes
    return {**waits, "more while loading": max(0, loading - sum(waits.values()))}


def _sampling(rollout: dict[str, int], completions: int, capacity: int) -> tuple[float, int]:
    """vLLM's share of an accelerator's memory, and the bytes of its cache.

    It takes its usual share, more if all completions need it, and no more than leaves some room
    beside what the trainer holds. A small cache makes it sample in turns, which is slow but works,
    so that only one completion's must fit.
    """
    one, own = rollout["cache"], rollout["rollout weights"] + rollout["sampler"]
    others = sum(rollout.values()) - own - one
    wanted = max(_USUAL_UTILIZATION, (own + one * completions) / capacity)
    free = FULL / (1 + MARGIN) - others / capacity
    share = math.floor(100 * min(wanted, free, _MOST_UTILIZATION)) / 100
    if share * capacity >= own + one:
        return share, int(share * capacity) - own
    return min(0.95, math.ceil(100 * (own + one) / capacity) / 100), one
