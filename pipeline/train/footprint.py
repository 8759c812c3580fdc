"""Memory of the local trainer, computed before anything is loaded.

All figures are bytes. Weights, gradients and optimiser state are exact; the cache is exact for the
longest prompts and completions the recipe allows; activations are an estimate from the tensors that
a Qwen2 layer keeps for its backward pass, which is why a margin is added. It is wider on a CPU,
where the C library keeps much freed memory.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from pipeline.config.algorithms import Algorithm
from pipeline.config.training import Train
from pipeline.train.shape import Shape

LOGITS_AT_ONCE = 2**26
"""Maximum logits in a block, 256 MiB in single precision."""

_FLOAT = 4
_MARGIN = 0.1  # of everything: allocator slack, temporary buffers
_HEAP_MARGIN = 0.6  # of what comes and goes in the memory of a process
_LIBRARIES = 650 * 2**20  # torch, transformers and the tokenizer, in the memory of the process


@dataclass(frozen=True)
class MemoryPlan:
    """Bytes by purpose; cache and activations never coexist.

    ``casts`` are the policy's weights in the format of its products, if that differs.
    """

    parameters: int
    gradients: int
    optimiser: int
    reference: int
    critic: int
    casts: int
    cache: int
    activations: int
    logits: int
    libraries: int

    @property
    def peak(self) -> int:
        """Maximum bytes at once, with margin."""
        learned = self.parameters + self.gradients + self.optimiser
        lasting = learned + self.reference + self.critic + self.casts
        passing = max(self.cache, self.activations + self.logits)
        on_cpu = self.libraries > 0
        slack = _MARGIN * lasting + (_HEAP_MARGIN if on_cpu else _MARGIN) * passing
        return round(lasting + passing + slack) + self.libraries

    def rows(self) -> list[tuple[str, int]]:
        items = [(field.name, getattr(self, field.name)) for field in fields(self)]
        return [*items, ("peak", self.peak)]


def plan(shape: Shape, recipe: Train, algorithm: Algorithm, *, on_gpu: bool = False) -> MemoryPlan:
    """The memory of a training run with the longest prompts and completions allowed.

    ``on_gpu`` counts the device's memory alone, without libraries.
    """
    weights = reference = shape.parameters * _FLOAT
    adapters = shape.adapters(recipe.lora.rank) * _FLOAT if recipe.lora else 0
    linear = sum(inputs * outputs for inputs, outputs in shape.linear)
    computed = 2 if recipe.precision == "bfloat16" else _FLOAT
    # With adapters, what flows back to a layer's weight is held until it is handed on to them.
    flows = linear * computed + adapters
    head = shape.vocab_size * shape.hidden_size
    casts = computed * (linear + head) if computed < _FLOAT else 0
    if casts:  # linear weights that are frozen are held as casts alone
        cast = linear + (0 if shape.tie_word_embeddings else head)
        reference = weights - cast * _FLOAT + casts
        if recipe.lora:
            weights -= linear * (_FLOAT - computed)
            casts = head * computed
    group = recipe.rollouts if algorithm.samples else 1
    prompt, new = recipe.max_prompt_tokens, recipe.max_new_tokens
    groups, rows = _micro_batch(recipe, group)
    cached = recipe.prompts_per_step * (prompt + group * new)  # tokens; prompts are held once
    key_value = 2 * shape.num_hidden_layers * shape.num_key_value_heads * shape.head_size
    return MemoryPlan(
        parameters=weights + adapters,
        gradients=flows if recipe.lora else weights,
        optimiser=2 * (adapters or weights),
        reference=reference if recipe.holds_reference(algorithm) else 0,
        critic=4 * shape.trunk * _FLOAT if algorithm.critic else 0,
        casts=casts,
        cache=cached * key_value * computed if algorithm.samples else 0,
        # On a CPU, autocast keeps about as much as it saves: the tensors and their casts.
        activations=_activations(
            shape, recipe, groups, rows, computed if on_gpu else _FLOAT, on_gpu=on_gpu
        ),
        # Logits, their logarithms and both gradients, in float32.
        logits=4 * min(rows * new * shape.vocab_size, LOGITS_AT_ONCE) * _FLOAT,
        libraries=0 if on_gpu else _LIBRARIES,
    )


def _micro_batch(recipe: Train, group: int) -> tuple[int, int]:
    groups = min(recipe.groups_per_micro_batch, recipe.prompts_per_step)
    prompt, new = recipe.max_prompt_tokens, recipe.max_new_tokens
    limit = recipe.tokens_per_micro_batch
    if limit is None:
        return groups, groups * group
    groups = min(groups, limit // (prompt + group * new))
    if groups:
        return groups, groups * group
    return 1, min(group, max(1, (limit - prompt) // new))


def _activations(
    shape: Shape, recipe: Train, groups: int, rows: int, size: int, *, on_gpu: bool
) -> int:
    """Bytes for the backward pass of a micro-batch, attention included."""
    prompt, new = recipe.max_prompt_tokens, recipe.max_new_tokens
    hidden, inner = shape.hidden_size, shape.intermediate_size
    key_value = shape.num_key_value_heads * shape.head_size
    # Per token and layer: two normalised inputs and two residuals in float32 with their variances,
    # queries, keys and values before and after rotation, attention output, three inner products.
    per_token = 6 * hidden * _FLOAT + (4 * hidden + 5 * key_value + 4 * inner) * size
    if recipe.gradient_checkpointing:
        tokens = rows * (prompt + new)  # one layer is there with its gradients
        states = tokens * (shape.num_hidden_layers * hidden * size + 2 * per_token)
        return states + _hidden_pairs(shape, recipe, groups, rows, size, on_gpu=on_gpu)
    tokens = groups * prompt + rows * new
    repeated = 2 * hidden if shape.num_key_value_heads < shape.num_attention_heads else 0
    if on_gpu:  # keys and values with a copy of the prompt for each completion
        attended = rows * (prompt + new) * (2 * key_value + repeated) * size
    else:  # stacked queries, output, and keys and values for every head
        attended = rows * new * (2 * hidden + repeated) * size
    layers = shape.num_hidden_layers * (tokens * per_token + attended)
    return layers + _hidden_pairs(shape, recipe, groups, rows, size, on_gpu=on_gpu)


def _hidden_pairs(
    shape: Shape, recipe: Train, groups: int, rows: int, size: int, *, on_gpu: bool
) -> int:
    """Bytes of the attention mask, which is as large as the scores."""
    prompt, new = recipe.max_prompt_tokens, recipe.max_new_tokens
    if recipe.gradient_checkpointing:  # a bit, in a byte, and what the layer at work makes of it
        return rows * (prompt + new) ** 2 * (1 + size)
    ragged = groups > 1
    # What the prompts' layers make of it is kept by each; prompts of one length need none.
    of_prompts = shape.num_hidden_layers * groups * prompt**2 * size if ragged else 0
    if not on_gpu:
        return of_prompts
    # One for all layers of the policy, another for those of the reference model.
    return of_prompts + 2 * (rows if ragged else 1) * new * (prompt + new) * size
