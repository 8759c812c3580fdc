"""What verl's output says about a failure, in words that name what to change."""

from __future__ import annotations

import math

import pytest

from pipeline.config.algorithms import with_defaults
from pipeline.config.training import Cluster
from pipeline.ops.verl.failures import circumstances, judge
from pipeline.ops.verl.job import check_finite
from pipeline.ops.verl.placement import place
from pipeline.train.contract import Step
from pipeline.train.shape import Shape
from tests.train.tiny import RECIPE

# Lines as torch, vLLM, Ray and verl print them.
CUDA = (
    "(WorkerDict pid=8) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.32 GiB. "
    "GPU 0 has a total capacity of 39.39 GiB of which 1.02 GiB is free."
)
NCCL_MEMORY = "(WorkerDict pid=8) misc/cudawrap.cc:90 NCCL WARN Cuda failure 2 'out of memory'"
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
NVCC = "RuntimeError: Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't exist"
HEADER = "/tmp/x/main.c:5:10: fatal error: Python.h: No such file or directory"
DRIVER = "RuntimeError: The NVIDIA driver on your system is too old (found version 12020)."


@pytest.fixture(scope="module")
def where() -> dict[str, object]:
    shape = Shape(64, 256, 2, 2, 2, 500, True)
    placement = place(shape, RECIPE, with_defaults("grpo"), Cluster(gpus=2))
    return circumstances("a", placement, "/state")


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        (CUDA, ("too little memory", "Tried to allocate 2.32 GiB", "cluster.gpus (now 2)")),
        (NCCL_MEMORY, ("accelerator memory: ", "3.2 in update, 3.2 in scoring")),
        (VLLM, ("too little memory", "79.2 GiB", "cells.a.train.cluster.offload: true")),
        (CACHE, ("too little memory", "cache blocks", "max_new_tokens")),
        (RAY, ("too little memory of its own", "cells.a.train.cluster.nodes (now 1)")),
        (DISK, ("no room to write a checkpoint in /state", "last complete one is kept")),
        (WRITER, ("no room to write a checkpoint in /state", "unexpected pos")),
        (NVCC, ("unfit node: ", "Could not find nvcc", "doctor --gpu")),
        (HEADER, ("unfit node: ", "Python.h")),
        (DRIVER, ("unfit node: ", "580 or newer")),
    ],
)
def test_a_failure_names_what_to_change(
    where: dict[str, object], line: str, parts: tuple[str, ...]
) -> None:
    said = judge(["Traceback", line, "later"], where, stepped=False)
    assert said is not None and not said.again
    for part in parts:
        assert part in said.message
    assert "\x1b" not in said.message and "\n" not in said.message


def watchdog(prefix: str, rank: int, milliseconds: int) -> str:
    """What torch writes of an operation that took too long, after Ray's prefix."""
    return (
        f"{prefix} [rank{rank}]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:685] [Rank {rank}] "
        "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, "
        "OpType=_REDUCE_SCATTER_BASE, NumelIn=544997376, NumelOut=68124672, Timeout(ms)=600000) "
        f"ran for {milliseconds} milliseconds before timing out."
    )


REMOTE = (
    "(WorkerDict pid=92234, ip=10.0.0.7) [rank12]:[E1224 13:23:05.483840160 "
    "ProcessGroupNCCL.cpp:552] [Rank 12] Collective WorkNCCL(SeqNum=1, OpType=BROADCAST, "
    "NumelIn=7, NumelOut=7, Timeout(ms)=1800000) raised the following async exception: NCCL error: "
    "remote process exited or there was a network error, NCCL version 2.27.5"
)
RAISED = [
    "[rank0]: torch.distributed.DistBackendError: NCCL error in: /torch/csrc/distributed/c10d/"
    "ProcessGroupNCCL.cpp:3356, unhandled system error, NCCL version 2.27.5",
    "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device "
    "error.",
]
ABORTED = (
    "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task. "
    "Worker exit type: SYSTEM_ERROR"
)


@pytest.mark.parametrize(
    "lines",
    [[watchdog("(WorkerDict pid=7)", 0, 600071)], [REMOTE], RAISED],
    ids=["timeout", "remote", "raised"],
)
def test_accelerators_that_lost_contact_are_tried_again(
    where: dict[str, object], lines: list[str]
) -> None:
    found = judge([*lines, ABORTED], where, stepped=False)
    assert found and (found.cause, found.again) == ("lost contact", True)
    assert "The processes of 2 x a100-80 wait for each other" in found.message


def test_a_warning_of_the_same_part_of_torch_is_none(where: dict[str, object]) -> None:
    warning = "[W1204 ProcessGroupNCCL.cpp:1538] Warning: destroy_process_group() was not called"
    assert judge([warning], where, stepped=True) is None


def test_what_nobody_knows_has_no_verdict(where: dict[str, object]) -> None:
    lines = ["Traceback", "exit status 1; its last lines:", "ConnectionError: reset"]
    assert judge(lines, where, stepped=True) is None


def test_the_special_cause_wins_over_the_general(where: dict[str, object]) -> None:
    died = "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task."
    preempted = "The actor died because its node has died. Node Id: 4f\n\tthe actor's node was "
    lines = [died, *f"{preempted}preempted: spot".splitlines()]
    assert (found := judge(lines, where, stepped=False)) and found.cause == "lost node"
    assert (found := judge([died, CUDA], where, stepped=False)) and not found.again
    assert (found := judge([died], where, stepped=False)) and found.cause == "killed"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["loss", "gradient_norm", "reward_mean"])
def test_a_step_that_is_no_number_ends_the_job(
    where: dict[str, object], name: str, value: float
) -> None:
    metrics = {"loss": 1.0, "gradient_norm": 0.0, "kl": math.nan, name: value}
    with pytest.raises(RuntimeError) as ended:
        check_finite(Step(step=3, metrics=metrics, timing={}, at=0.0))
    found = judge([f"RuntimeError: {ended.value}"], where, stepped=True)
    assert found and not found.again and "Lower cells.a.train.learning_rate" in found.message


def test_what_announces_the_last_lines_is_not_said_without_them(where: dict[str, object]) -> None:
    found = judge(["stopped after 9 s without progress; its last lines:"], where, stepped=True)
    assert found is not None
    assert found.message.startswith("hung: stopped after 9 s without progress. If its steps")
