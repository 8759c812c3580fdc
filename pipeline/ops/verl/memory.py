"""What an accelerator holds in each phase of a step: bytes by what they hold. Pure functions.

Weights, gradients and optimiser state are exact; the rest is an estimate for sequences of the
longest length the recipe allows, so that a margin is kept (:data:`MARGIN`).
"""

from __future__ import annotations

from pipeline.config.training import Train
from pipeline.train.shape import Shape

FLOAT = 4
MARGIN = 0.08  # of everything: fragmentation, temporary buffers
CHUNK = 512
"""Tokens whose logits are there at once (verl 0.9.1, ``FusedLinearForPPO``)."""

FUSED = ("actor_rollout_ref.model.use_fused_kernels", "model.use_fused_kernels")
"""verl's settings, of RL and of imitation, that keep logits in chunks."""


def with_margin(items: dict[str, int]) -> int:
    """The bytes of a phase, margin included."""
    return round((1 + MARGIN) * sum(items.values()))


def longest(recipe: Train) -> int:
    return recipe.max_prompt_tokens + recipe.max_new_tokens


def frozen(recipe: Train) -> int:
    """The bytes of a weight of the policy that adapters are beside, and that is not trained.

    Nothing is lost in bfloat16: forward passes round all weights to it anyway.
    """
    return 2 if recipe.lora and recipe.precision == "bfloat16" else FLOAT


def trained(parameters: int, ranks: int, adapters: int = 0, size: int = FLOAT) -> dict[str, int]:
    """What each rank holds of a model that is trained: of that, FSDP keeps float32.

    Args:
        parameters: Weights of the model.
        ranks: Accelerators that share them.
        adapters: Weights of adapters on it, if these alone are trained.
        size: Bytes of a weight of the model.
    """
    weights = (parameters * size + adapters * FLOAT) // ranks
    learned = (adapters or parameters) * FLOAT // ranks
    return {"parameters": weights, "gradients": learned, "optimiser": 2 * learned}


def gathered(shape: Shape, size: int) -> int:
    """What FSDP collects to compute: the vocabulary's weights, and two layers in turn."""
    vocabulary = shape.vocab_size * shape.hidden_size
    ends = vocabulary if shape.tie_word_embeddings else 2 * vocabulary
    layer = (shape.trunk - vocabulary) // shape.num_hidden_layers
    return (ends + 2 * layer) * size


def activations(shape: Shape, tokens: int, size: int) -> int:
    """What the backward pass over so many tokens needs, which recomputes one layer at a time."""
    hidden, inner = shape.hidden_size, shape.intermediate_size
    key_value = shape.num_key_value_heads * shape.head_size
    # Per token and layer: normalised inputs and residuals in float32; queries, keys and values
    # before and after rotation, attention output, three inner products.
    layer = 6 * hidden * FLOAT + (4 * hidden + 5 * key_value + 4 * inner) * size
    return tokens * (shape.num_hidden_layers * hidden * size + layer)


def passing(shape: Shape, tokens: int, size: int) -> int:
    """What a forward pass alone holds at once: the widest part of one layer."""
    hidden, inner = shape.hidden_size, shape.intermediate_size
    return tokens * (2 * hidden * FLOAT + (2 * hidden + 3 * inner) * size)


def logits(shape: Shape, recipe: Train, tokens: int, size: int, *, learns: bool) -> int:
    """The logits that are there at once; verl computes them on prompts too.

    Args:
        shape: Of the model.
        recipe: The training recipe.
        tokens: Of a micro-batch.
        size: Bytes of a number.
        learns: Whether a backward pass follows.
    """
    overrides = recipe.cluster.overrides
    if not all(overrides.get(name, True) for name in FUSED):
        # The logits, the float32 copy that entropies need, and the gradient.
        return tokens * shape.vocab_size * ((2 if learns else 1) * size + FLOAT)
    # Of a chunk: logits, probabilities and products of them in float32; with a backward pass also
    # the gradient of the logits, and that of the vocabulary's weights before it is added up.
    copies = 6 if learns else 4
    chunk = min(tokens, CHUNK) * shape.vocab_size * (copies * FLOAT + size)
    return chunk + (shape.vocab_size * shape.hidden_size * size if learns else 0)


def cache_of_one(shape: Shape, recipe: Train, size: int, tensor_parallel: int) -> int:
    """The keys and values of one completion on each accelerator that shares it."""
    heads = max(1, shape.num_key_value_heads // tensor_parallel)
    return 2 * shape.num_hidden_layers * heads * shape.head_size * size * longest(recipe)
