"""What verl's output says about a failure, in words that name what to change."""

from __future__ import annotations

import pytest

from pipeline.config.algorithms import with_defaults
from pipeline.config.training import Cluster
from pipeline.train.shape import Shape
from pipeline.train.verl.failures import explain
from pipeline.train.verl.placement import Placement, place
from tests.train.tiny import RECIPE

# Lines as torch, vLLM, Ray and verl print them.
CUDA = (
    "(WorkerDict pid=8) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. "
    "GPU 0 has a total capacity of 39.39 GiB of which 1.02 GiB is free."
)
VLLM = (
    "ValueError: Free memory on device (30.1/79.2 GiB) on startup is less than desired GPU memory "
    "utilization (0.5, 39.6 GiB)."
)
CACHE = "ValueError: No available memory for the cache blocks. Try increasing it."
RAY = (
    "\x1b[36m(pid=9)\x1b[0m ray.exceptions.OutOfMemoryError: Task was killed due to the node "
    "running low on memory."
)
DISK = "(WorkerDict pid=9) OSError: [Errno 28] No space left on device: '/state/x.pt'"
WRITER = "RuntimeError: [enforce fail at inline_container.cc:603] . unexpected pos 64 vs 0"
FREE = "ValueError: Total available GPUs 1 is less than total desired GPUs 4"


@pytest.fixture(scope="module")
def placement() -> Placement:
    shape = Shape(64, 256, 2, 2, 2, 500, True)
    return place(shape, RECIPE, with_defaults("grpo"), Cluster(gpus=2), "tiny")


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        (CUDA, ("too little memory", "Tried to allocate 2.32 GiB", "cluster.gpus (now 2)")),
        (VLLM, ("too little memory", "79.2 GiB", "cells.a.train.cluster.offload: true")),
        (CACHE, ("too little memory", "cache blocks", "max_new_tokens")),
        (RAY, ("too little memory of its own", "cells.a.train.cluster.nodes (now 1)")),
        (DISK, ("no room to write a checkpoint in /state", "last whole one is kept")),
        (WRITER, ("no room to write a checkpoint in /state", "unexpected pos")),
        (FREE, ("has 1 free accelerators", "takes 4", "cells.a.train.cluster.gpus")),
    ],
)
def test_a_failure_names_what_to_change(
    placement: Placement, line: str, parts: tuple[str, ...]
) -> None:
    said = explain(["Traceback", line, "later"], "a", placement, "/state")
    assert said is not None
    for part in parts:
        assert part in said
    assert "\x1b" not in said and "\n" not in said


def test_other_failures_may_be_tried_again(placement: Placement) -> None:
    lines = ["ray.exceptions.ActorDiedError: The actor died unexpectedly", "ConnectionError"]
    assert explain(lines, "a", placement, "/state") is None
