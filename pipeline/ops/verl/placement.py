"""Where a cell's training goes: the fewest accelerators that hold it, and the fastest way on them.

What they hold is counted by :mod:`pipeline.ops.verl.phases`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.base.errors import UserError
from pipeline.config.algorithms import Algorithm
from pipeline.config.training import Accelerator, Cluster, Train
from pipeline.formats.plural import counted
from pipeline.ops.verl.memory import longest
from pipeline.ops.verl.phases import FULL, Placement, plan_on
from pipeline.ops.vllm.replica import GPUS_PER_NODE, parallel_sizes
from pipeline.train.accelerators import GIB, MEMORY
from pipeline.train.shape import Shape

__all__ = ["Placement", "place"]

NODES = (1, 2, 4, 8)
_MICRO_BATCHES = (16, 8, 4, 2, 1)  # of the longest sequences


def place(shape: Shape, recipe: Train, algorithm: Algorithm, cluster: Cluster) -> Placement:
    """The placement of a training run: the smallest that fits, within what is asked for.

    Args:
        shape: Of the policy.
        recipe: The training recipe.
        algorithm: The algorithm; one with a critic holds another model.
        cluster: What the study asks for.

    Raises:
        UserError: If nothing fits, or the batch does not divide among the accelerators; with the
            numbers, and with what would fit.
    """
    accelerator = "a100-80" if cluster.accelerator == "auto" else cluster.accelerator
    # The fewest accelerators win. What comes nearest to fitting is kept for the error message.
    tried: list[Placement] = []
    for nodes, gpus in _places(cluster, recipe, algorithm):
        options = list(_options(shape, recipe, algorithm, cluster, accelerator, nodes, gpus))
        if found := _choose(options):
            return found
        tried += [option for option in options if option.nodes == (cluster.nodes or 1)]
    raise _too_big(min(tried, key=lambda each: each.peak), shape, recipe, algorithm, cluster)


def _choose(options: list[Placement]) -> Placement | None:
    """The fastest option that leaves some room, else one with offload, the roomiest.

    Offload empties an accelerator for all but the update: where that is tight, nothing else is.
    """
    fitting = [option for option in options if option.fits]
    roomy = next((option for option in fitting if option.fullness <= FULL), None)
    tight = min(fitting, key=lambda each: (not each.offload, each.fullness), default=None)
    return roomy or tight


def _places(cluster: Cluster, recipe: Train, algorithm: Algorithm) -> list[tuple[int, int]]:
    """Nodes and accelerators per node to try; each must divide the work of an update."""
    first = cluster.nodes or 1
    found = [(first, gpus) for gpus in _gpu_counts(cluster, first, recipe, algorithm)]
    if cluster.nodes or cluster.gpus:
        return found
    sequences, most = _sequences_per_update(recipe, algorithm), _of_node(cluster)
    return found + [(nodes, most) for nodes in NODES[1:] if sequences % (nodes * most) == 0]


def _of_node(cluster: Cluster) -> int:
    return cluster.node_gpus or GPUS_PER_NODE[-1]


def _gpu_counts(cluster: Cluster, nodes: int, recipe: Train, algorithm: Algorithm) -> list[int]:
    """The accelerators per node to try."""
    sequences = _sequences_per_update(recipe, algorithm)
    asked = cluster.gpus
    most = _of_node(cluster)
    counts = [asked] if asked else [n for n in GPUS_PER_NODE if n <= most]
    # verl gives each rank the same number of sequences and refuses to start with a remainder.
    usable = [gpus for gpus in counts if sequences % (gpus * nodes) == 0]
    if not usable:
        found = asked or counts[0]
        raise UserError(
            f"train.cluster: {counted(nodes, 'node')} with {counted(found, 'accelerator')} each "
            f"cannot share {sequences} completions evenly (prompts_per_step "
            f"{recipe.prompts_per_step}{_per_prompt(recipe, algorithm)}); allowed: a number "
            f"that divides {sequences}"
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
    """The completions of one optimiser step."""
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
    nodes: int,
    gpus: int,
) -> Iterator[Placement]:
    """Yield placements on so many accelerators, the fastest first."""
    # Offload costs a copy over the bus in every phase, so it is tried last; a wider spread of the
    # rollout model costs communication in every token; smaller micro-batches idle the accelerator.
    offloads = (False, True) if cluster.offload is None else (cluster.offload,)
    sequences = _sequences_per_update(recipe, algorithm) // (gpus * nodes)
    for offload in offloads:
        for tensor_parallel in _tensor_parallels(shape, cluster, algorithm, gpus):
            for micro_batch in _micro_batches(recipe, algorithm, sequences):
                yield plan_on(
                    shape,
                    recipe,
                    algorithm,
                    accelerator=accelerator,
                    nodes=nodes,
                    gpus=gpus,
                    tensor_parallel=tensor_parallel,
                    offload=offload,
                    micro_batch=micro_batch,
                    memory_each=cluster.memory,
                )


def _micro_batches(recipe: Train, algorithm: Algorithm, sequences: int) -> list[int]:
    """The micro-batches to try on an accelerator, the largest first.

    Of RL they are budgets of tokens, which verl fills with as many sequences as there is room for.
    Sequences that are imitated may be longer than any budget; they are counted, and must divide.
    """
    most = min(sequences, _MICRO_BATCHES[0])
    if recipe.tokens_per_micro_batch is not None:
        most = min(most, max(1, recipe.tokens_per_micro_batch // longest(recipe)))
    if algorithm.samples:
        return sorted({most, *(size for size in _MICRO_BATCHES if size < most)}, reverse=True)
    return [size for size in range(most, 0, -1) if sequences % size == 0]


def _tensor_parallels(shape: Shape, cluster: Cluster, algorithm: Algorithm, gpus: int) -> list[int]:
    """The ways to spread the rollout model; vLLM's heads must divide."""
    if not algorithm.samples:
        return [1]
    if cluster.tensor_parallel:
        return [cluster.tensor_parallel]
    sizes = parallel_sizes(shape.num_attention_heads, shape.num_key_value_heads)
    return [count for count in sizes if gpus % count == 0]


def _too_big(
    best: Placement, shape: Shape, recipe: Train, algorithm: Algorithm, cluster: Cluster
) -> UserError:
    """The error of a plan that does not fit, with its numbers and one that would."""
    phase = max(best.peaks, key=best.peaks.__getitem__)
    largest = sorted(best.phases[phase].items(), key=lambda item: -item[1])[:4]
    parts = ", ".join(f"{name} {held / GIB:.1f}" for name, held in largest)
    return UserError(
        f"train.cluster: {shape.parameters / 1e9:.1f} billion parameters with {algorithm.name} "
        f"do not fit on {best.describe()}: {phase} needs {best.peak / GIB:.1f} GiB on each, "
        f"it has {best.capacity / GIB:.1f} ({parts} GiB). "
        f"{_would_fit(shape, recipe, algorithm, cluster, best)}"
    )


def _would_fit(
    shape: Shape, recipe: Train, algorithm: Algorithm, cluster: Cluster, best: Placement
) -> str:
    """The smallest placement that fits, or that none does."""
    for nodes in (best.nodes, *(n for n in NODES if n > best.nodes)):
        loose = cluster.model_copy(
            update={
                "accelerator": best.accelerator,
                "gpus": None,
                "offload": None,
                "tensor_parallel": None,
            }
        )
        for gpus in GPUS_PER_NODE:
            if _sequences_per_update(recipe, algorithm) % (gpus * nodes):
                continue
            options = _options(shape, recipe, algorithm, loose, best.accelerator, nodes, gpus)
            if found := next((option for option in options if option.fits), None):
                needs = f"set nodes: {nodes} and gpus: {gpus}"
                return f"It would fit on {found.describe()}: {needs}"
    larger = [name for name, size in MEMORY.items() if size > MEMORY[best.accelerator]]
    return (
        f"No number of {best.accelerator} fits: lower max_prompt_tokens or max_new_tokens, or "
        f"choose a larger accelerator ({', '.join(larger) or 'there is none'})"
    )
