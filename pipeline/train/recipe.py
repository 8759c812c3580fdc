"""What a cell's recipe does otherwise than plain training of all weights, in words."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.config.algorithms import AlgorithmBase
from pipeline.config.training import Train
from pipeline.formats.plural import counted

_SURROGATES = {
    "gspo": "clips the ratio of whole responses",
    "cispo": "weighs each log-probability by its clipped ratio, and drops none",
}


def own_ways(recipe: Train, algorithm: AlgorithmBase) -> list[str]:
    """A sentence for each thing that is not as the recipe's general fields say."""
    return [*_objective(recipe, algorithm), *_weights(recipe), *_draws(recipe)]


def _objective(recipe: Train, algorithm: AlgorithmBase) -> Iterator[str]:
    name, clip = algorithm.name, algorithm.clip
    if clip is not None:
        yield (
            f"{name}: {_SURROGATES[algorithm.surrogate]}, to {1 - clip.low:g} ... "
            f"{1 + clip.high:g}; train.clip_range, clip_range_high and dual_clip are not read"
        )
    if algorithm.aggregation not in (None, recipe.aggregation):
        yield (
            f"{name}: losses become one number by {algorithm.aggregation}, not by "
            f"train.aggregation ({recipe.aggregation})"
        )


def _weights(recipe: Train) -> Iterator[str]:
    if lora := recipe.lora:
        yield (
            f"lora: trains adapters of rank {lora.rank} on all linear layers, scaled by "
            f"{lora.alpha / lora.rank:g}, and nothing else; they are added to the weights that are "
            "stored"
        )


def _draws(recipe: Train) -> Iterator[str]:
    if dynamic := recipe.dynamic_sampling:
        most = counted(dynamic.draws * recipe.prompts_per_step, "prompt")
        yield (
            "dynamic_sampling: leaves out prompts whose completions all earn the same, and draws "
            f"others, at most {most} in all for a step; its metrics are of those that are kept"
        )
