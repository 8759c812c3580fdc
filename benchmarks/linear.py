"""How much faster linear layers are through oneDNN than as PyTorch computes them, as ratios.

The shapes are those of a training step of the tiny model "small" and of its decoding; both layers
take turns on the same rows. Run ``python -m benchmarks.linear [--threads N]``.
"""

from __future__ import annotations

import copy
from argparse import ArgumentParser
from dataclasses import dataclass
from statistics import median
from time import perf_counter

import torch
from torch import nn

from pipeline.engine.linear import use_onednn

ROUNDS = 100


@dataclass(frozen=True)
class Shape:
    """One product; ``learns`` adds the backward pass."""

    rows: int
    inputs: int
    outputs: int
    learns: bool


SHAPES = (
    Shape(4032, 128, 512, True),  # 4 groups of 16 completions: into the MLP, and out of it
    Shape(4032, 512, 128, True),
    Shape(4032, 128, 128, True),  # attention
    Shape(128, 128, 512, False),  # one decoding step of 8 prompts x 16 completions
    Shape(128, 512, 128, False),
    Shape(128, 128, 128, False),
)


def seconds(layer: nn.Linear, rows: torch.Tensor, learns: bool) -> float:
    """How long one pass takes, in seconds."""
    start = perf_counter()
    if learns:
        layer(rows).backward(torch.ones(len(rows), layer.out_features))
    else:
        with torch.inference_mode():
            layer(rows)
    return perf_counter() - start


def compare(shape: Shape) -> dict[str, float]:
    """Time both layers in turns; return medians, and the ratio of each pair of passes."""
    plain = nn.Linear(shape.inputs, shape.outputs)
    fast = copy.deepcopy(plain)
    use_onednn(fast)
    rows = torch.randn(shape.rows, shape.inputs, requires_grad=shape.learns)
    pairs = []
    for _ in range(ROUNDS):
        pairs.append([seconds(layer, rows, shape.learns) for layer in (plain, fast)])
        for tensor in (rows, *plain.parameters(), *fast.parameters()):
            tensor.grad = None
    ratios = sorted(plain / fast for plain, fast in pairs[ROUNDS // 10 :])
    before, after = (median(side) for side in zip(*pairs, strict=True))
    operations = 2 * shape.rows * shape.inputs * shape.outputs * (3 if shape.learns else 1)
    return {
        "plain_gflops": operations / before / 1e9,
        "onednn_gflops": operations / after / 1e9,
        "ratio": median(ratios),
        "ratio_low": ratios[len(ratios) // 10],
        "ratio_high": ratios[-len(ratios) // 10],
    }


def main() -> None:
    """Compare at every shape and print the table; the figure is the median ratio."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    print("| rows x in x out | pass | plain, GFLOP/s | oneDNN, GFLOP/s | times faster (80 %) |")
    print("|---|---|---|---|---|")
    found = []
    for shape in SHAPES:
        row = compare(shape)
        found.append(row)
        print(
            f"| {shape.rows} x {shape.inputs} x {shape.outputs} "
            f"| {'forward and backward' if shape.learns else 'forward'} "
            f"| {row['plain_gflops']:.0f} | {row['onednn_gflops']:.0f} "
            f"| {row['ratio']:.1f} ({row['ratio_low']:.1f}-{row['ratio_high']:.1f}) |"
        )
    figure = median(row["ratio"] for row in found)
    print(f"linear layers through oneDNN: {figure:.1f} times faster, {asked.threads} thread(s)")


if __name__ == "__main__":
    main()
