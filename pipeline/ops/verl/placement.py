"""Where a cell's training goes: a row of ``sizes.yaml``, or what the study says.

What it holds there is counted by :mod:`pipeline.ops.verl.phases`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from pipeline.base.errors import UserError
from pipeline.config.algorithms import Algorithm
from pipeline.config.reading import read_section
from pipeline.config.section import Listed, Section, one_of
from pipeline.config.training import Accelerator, Cluster, Train
from pipeline.formats.plural import counted
from pipeline.ops.verl.memory import longest
from pipeline.ops.verl.phases import Placement, plan_on
from pipeline.train.accelerators import GIB
from pipeline.train.shape import Shape
from pipeline.train.shapes import QWEN25

__all__ = ["Placement", "place"]

_FILE = "pipeline/ops/verl/sizes.yaml"
_SETTINGS = ("nodes", "gpus", "tensor_parallel", "offload")
_ALONE: dict[str, Any] = {"nodes": 1, "tensor_parallel": 1, "offload": False}
"""Where a study says no more than ``gpus``, and no row is for so many."""
_COUNTS = ("nodes", "gpus", "node_gpus")
_MICRO_BATCHES = (16, 8, 4, 2, 1)  # of the longest sequences

Positive = Annotated[int, Field(ge=1)]
Method = Literal["full", "lora", "ppo", "sft"]


class Size(Section):
    """A row of ``sizes.yaml``: accelerators on which models up to some size are trained.

    Attributes:
        model: Size of the largest model that it is for.
        trains: ``ppo`` for RL with a critic, ``lora`` for RL of adapters, ``full`` for other RL; or
            ``sft``.
        accelerators: Kinds of accelerators.
        nodes: Nodes.
        gpus: Accelerators of each.
        tensor_parallel: Accelerators that one copy of the rollout model spans.
        offload: Whether weights and optimiser state wait in the nodes' own memory between steps.
        tokens: Most tokens that an accelerator takes through forward and backward at once.
        gib: Most GiB on an accelerator, with the lengths and the batch that the file names.
        basis: Where that figure comes from.
    """

    model: Annotated[str, one_of(QWEN25)]
    trains: Method
    accelerators: Annotated[Listed[Accelerator], Field(min_length=1)]
    nodes: Positive = 1
    gpus: Positive
    tensor_parallel: Positive = 1
    offload: bool = False
    tokens: Positive
    gib: float
    basis: Literal["computed", "measured"] = "computed"

    @property
    def parameters(self) -> int:
        return QWEN25[self.model].parameters

    def holds(self, shape: Shape) -> bool:
        """Whether a model is as small as the one that it is for, or smaller."""
        return shape.parameters <= self.parameters

    def suits(self, cluster: Cluster) -> bool:
        """Whether it has the nodes and accelerators that a study asks for."""
        nodes = cluster.nodes or (1 if cluster.gpus else self.nodes)
        asked = (nodes, cluster.gpus or self.gpus)
        return asked == (self.nodes, self.gpus) and self.gpus <= (cluster.node_gpus or self.gpus)

    def describe(self) -> str:
        """The row in words."""
        nodes = f"{self.nodes} nodes x " if self.nodes > 1 else ""
        offload = ", offload" if self.offload else ""
        return f"{nodes}{self.gpus} x {' or '.join(self.accelerators)} ({self.basis}{offload})"


class Sizes(Section):
    """The content of ``sizes.yaml``."""

    sizes: Listed[Size]


@cache
def known_sizes() -> list[Size]:
    """All rows of the file, those of smaller models first.

    Raises:
        UserError: With every mistake in the file.
    """
    rows = read_section(Path(__file__).with_name("sizes.yaml"), Sizes).sizes
    return sorted(rows, key=lambda row: row.parameters)


def place(shape: Shape, recipe: Train, algorithm: Algorithm, cluster: Cluster) -> Placement:
    """The placement of a training run: that of the next larger model in ``sizes.yaml``.

    Of its rows for one accelerator, the first that has the asked number of accelerators and, if
    any does, all else that is asked. What the study sets wins over the row; with ``gpus`` it needs
    none.

    Args:
        shape: Of the policy.
        recipe: The training recipe.
        algorithm: The algorithm; one with a critic holds another model.
        cluster: What the study asks for.

    Raises:
        UserError: If there is no such row, it does not fit, or the batch does not divide among the
            accelerators.
    """
    accelerator = "a100-80" if cluster.accelerator == "auto" else cluster.accelerator
    method = _method(recipe, algorithm)
    larger = [row for row in known_sizes() if row.trains == method and row.holds(shape)]
    known = [row for row in larger if accelerator in row.accelerators] or larger
    known = [row for row in known if row.model == known[0].model]
    rows = [row for row in known if accelerator in row.accelerators and row.suits(cluster)]
    if not rows and cluster.gpus is None:
        raise _unknown(shape, method, accelerator, cluster, known)
    asked = {name: value for name in _SETTINGS if (value := getattr(cluster, name)) is not None}
    chosen, tokens = _ALONE | asked, None
    if rows:
        row = min(rows, key=lambda row: sum(getattr(row, name) != asked[name] for name in asked))
        chosen, tokens = row.model_dump(include=set(_SETTINGS)) | asked, row.tokens
    sequences = _sequences(recipe, algorithm, chosen)
    for micro_batch in _micro_batches(recipe, algorithm, sequences, tokens):
        found = plan_on(
            shape,
            recipe,
            algorithm,
            accelerator=accelerator,
            micro_batch=micro_batch,
            memory_each=cluster.memory,
            **chosen,
        )
        if found.fits:
            return found
    raise _too_big(found, shape, algorithm, known)


def _method(recipe: Train, algorithm: Algorithm) -> Method:
    if algorithm.critic:
        return "ppo"
    if not algorithm.samples:
        return "sft"
    return "lora" if recipe.lora else "full"


def _sequences(recipe: Train, algorithm: Algorithm, chosen: Mapping[str, int]) -> int:
    """The completions of one optimiser step on each accelerator.

    Raises:
        UserError: If verl would refuse to start, as something does not divide.
    """
    nodes, gpus, tensor_parallel = (chosen[name] for name in _SETTINGS[:3])
    prompts, updates = recipe.prompts_per_step, recipe.updates_per_batch
    sequences, per_prompt = prompts, " x 1"
    if algorithm.samples:
        if prompts % updates:
            raise UserError(
                f"train.updates_per_batch: found {updates}; with verl it must divide "
                f"prompts_per_step ({prompts})"
            )
        sequences = prompts // updates * recipe.rollouts
        per_prompt = f" x rollouts {recipe.rollouts} / updates_per_batch {updates}"
    if sequences % (nodes * gpus):
        raise UserError(
            f"train.cluster: {counted(nodes, 'node')} with {counted(gpus, 'accelerator')} each "
            f"cannot share {sequences} completions evenly (prompts_per_step {prompts}{per_prompt}"
            f"); allowed: a number that divides {sequences}"
        )
    if gpus % tensor_parallel:
        raise UserError(
            f"train.cluster.tensor_parallel: found {tensor_parallel}; allowed: a divisor of the "
            f"accelerators per node ({gpus})"
        )
    return sequences // (nodes * gpus)


def _micro_batches(
    recipe: Train, algorithm: Algorithm, sequences: int, tokens: int | None
) -> list[int]:
    """The longest sequences that an accelerator takes at once, within so many tokens; most first.

    Of RL they are budgets of tokens, which verl fills with as many sequences as there is room for.
    Sequences that are imitated may be longer than any budget; they are counted, and must divide.
    """
    most = min(sequences, _MICRO_BATCHES[0])
    if recipe.tokens_per_micro_batch is not None:
        most = min(most, max(1, recipe.tokens_per_micro_batch // longest(recipe)))
    sizes = [size for size in range(most, 0, -1) if sequences % size == 0]
    if algorithm.samples:
        sizes = [most, *(size for size in _MICRO_BATCHES if size < most)]
    return [size for size in sizes if not tokens or size * longest(recipe) <= tokens] or [1]


def _unknown(
    shape: Shape, method: Method, accelerator: str, cluster: Cluster, known: list[Size]
) -> UserError:
    """The error where no row is for what is asked."""
    asked = [f"{name} {value}" for name in _COUNTS if (value := getattr(cluster, name))]
    return UserError(
        f"train.cluster: {_FILE} has no row for {shape.parameters / 1e9:.1f} billion parameters "
        f"({method}) on {', '.join([accelerator, *asked])}; it has {_in_words(known)}. Set "
        "train.cluster.gpus, and nodes, tensor_parallel, offload where needed, or add a row"
    )


def _too_big(found: Placement, shape: Shape, algorithm: Algorithm, known: list[Size]) -> UserError:
    """The error of a placement that does not fit, with its numbers and what would."""
    phase = max(found.peaks, key=found.peaks.__getitem__)
    largest = sorted(found.phases[phase].items(), key=lambda item: -item[1])[:4]
    parts = ", ".join(f"{name} {held / GIB:.1f}" for name, held in largest)
    return UserError(
        f"train.cluster: {shape.parameters / 1e9:.1f} billion parameters with {algorithm.name} "
        f"do not fit on {found.describe()}: {phase} needs {found.peak / GIB:.1f} GiB on each, "
        f"it has {found.capacity / GIB:.1f} ({parts} GiB). Known to fit (in {_FILE}): "
        f"{_in_words(known)}; or set train.cluster.offload, or lower max_prompt_tokens or "
        "max_new_tokens"
    )


def _in_words(known: list[Size]) -> str:
    return ", ".join(row.describe() for row in known) or "none for a model as large"
