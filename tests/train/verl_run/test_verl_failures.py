"""What verl's output says about a failure, in words that name what to change."""

from __future__ import annotations

import math

import pytest

from pipeline.config.algorithms import with_defaults
from pipeline.config.training import Cluster
from pipeline.train.contract import Step
from pipeline.train.shape import Shape
from pipeline.train.verl.failures import Circumstances, judge
from pipeline.train.verl.job import check_finite
from pipeline.train.verl.placement import place
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
def where() -> Circumstances:
    shape = Shape(64, 256, 2, 2, 2, 500, True)
    placement = place(shape, RECIPE, with_defaults("grpo"), Cluster(gpus=2), "tiny")
    return Circumstances.of("a", placement, "/state")


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        (CUDA, ("too little memory", "Tried to allocate 2.32 GiB", "cluster.gpus (now 2)")),
        (VLLM, ("too little memory", "79.2 GiB", "cells.a.train.cluster.offload: true")),
        (CACHE, ("too little memory", "cache blocks", "max_new_tokens")),
        (RAY, ("too little memory of its own", "cells.a.train.cluster.nodes (now 1)")),
        (DISK, ("no room to write a checkpoint in /state", "last whole one is kept")),
        (WRITER, ("no room to write a checkpoint in /state", "unexpected pos")),
        (FREE, ("GPUs 1 is less than", "GPUs 4", "cells.a.train.cluster.gpus (now 2)")),
    ],
)
def test_a_failure_names_what_to_change(
    where: Circumstances, line: str, parts: tuple[str, ...]
) -> None:
    said = judge(["Traceback", line, "later"], where, stepped=False)
    assert said is not None and said.again == (line == FREE)
    for part in parts:
        assert part in said.message
    assert "\x1b" not in said.message and "\n" not in said.message


def test_what_nobody_knows_has_no_verdict(where: Circumstances) -> None:
    lines = ["Traceback", "exit status 1; its last lines:", "ConnectionError: reset"]
    assert judge(lines, where, stepped=True) is None


def test_the_special_cause_wins_over_the_general(where: Circumstances) -> None:
    died = "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task."
    preempted = "The actor died because its node has died. Node Id: 4f\n\tthe actor's node was "
    lines = [died, *f"{preempted}preempted: spot".splitlines()]
    assert (found := judge(lines, where, stepped=False)) and found.cause == "preemption"
    assert (found := judge([died, CUDA], where, stepped=False)) and not found.again
    assert (found := judge([died], where, stepped=False)) and found.cause == "killed"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["loss", "gradient_norm", "reward_mean"])
def test_a_step_that_is_no_number_ends_the_job(
    where: Circumstances, name: str, value: float
) -> None:
    metrics = {"loss": 1.0, "gradient_norm": 0.0, "kl": math.nan, name: value}
    with pytest.raises(RuntimeError) as ended:
        check_finite(Step(step=3, metrics=metrics, timing={}, at=0.0))
    found = judge([f"RuntimeError: {ended.value}"], where, stepped=True)
    assert found and not found.again and "Lower cells.a.train.learning_rate" in found.message


def test_a_step_without_updates_is_one() -> None:
    check_finite(Step(step=0, metrics={"validation_accuracy": 0.5}, timing={}, at=0.0))


def test_what_announces_the_last_lines_is_not_said_without_them(where: Circumstances) -> None:
    found = judge(["stopped after 9 s without progress; its last lines:"], where, stepped=True)
    assert found is not None
    assert found.message.startswith("hung: stopped after 9 s without progress. If its steps")
