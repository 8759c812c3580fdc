"""Cells on two nodes: raylets with addresses of their own on one machine, lost and brought back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.formats.files import read_json, read_lines
from pipeline.ops.cluster.job import NODE_DISK
from tests.alive import until
from tests.engines.conftest import GRPO, STEPS, Start, edit_params, saved_steps
from tests.engines.nodes import FIRST, HEAD, SECOND, THIRD, Nodes

pytestmark = pytest.mark.nightly
STAGE = ("python", "-m", "pipeline.stages.train", GRPO)


@pytest.fixture
def nodes(engine: Path) -> Iterator[Nodes]:
    """A head and two nodes with an accelerator each."""
    with Nodes.two(engine) as cluster:
        yield cluster


@pytest.fixture
def spread(checkout: Path) -> Path:
    """A checkout whose cells train on two nodes, one rank on each."""
    edit_params(checkout, GRPO, gpus=1, nodes=2)
    return checkout


def assert_whole(checkout: Path) -> None:
    """All steps are there, each once, and the last one is stored."""
    folder = checkout / "runs" / "mini" / GRPO / "train"
    steps = [row["step"] for row in read_lines(folder / "metrics.jsonl")]
    assert steps == list(range(STEPS + 1))
    assert read_json(folder / "checkpoints.json")["checkpoints"]["last"]["step"] == STEPS


def test_a_node_that_is_lost_costs_the_steps_since_the_last_checkpoint(
    nodes: Nodes, spread: Path, start: Start
) -> None:
    # What holds completions waits for the node; the stall limit ends that, if nothing else does.
    edit_params(spread, GRPO, stall_minutes=2)
    disk = spread.parent / "a disk"
    disk.mkdir()
    command = start(spread, *STAGE, **nodes.variables, **{NODE_DISK: str(disk)})
    command.wait_until(lambda: 2 in saved_steps(spread))
    nodes.kill(SECOND)
    for part in disk.glob("*/*-1"):  # of the rank there, by its address
        shutil.rmtree(part)
    command.wait_until(lambda: "cluster: waiting for 2 nodes with 1 GPU each" in command.output)
    nodes.add(THIRD)
    assert command.wait() == 0, command.output
    assert_whole(spread)


def test_training_goes_on_when_the_head_was_restarted(
    nodes: Nodes, spread: Path, start: Start
) -> None:
    """A head forgets its jobs with its end, and its nodes end with it."""
    command = start(spread, *STAGE, **nodes.variables)
    command.wait_until(lambda: 2 in saved_steps(spread))
    for address in (HEAD, FIRST, SECOND):
        nodes.kill(address)
    nodes.start_head()
    for address in (FIRST, SECOND):
        nodes.add(address)
    assert command.wait() == 0, command.output
    assert_whole(spread)


def test_a_node_that_is_slow_is_waited_for(nodes: Nodes, spread: Path, start: Start) -> None:
    """It is stopped for some seconds at a time while others go on."""
    command = start(spread, *STAGE, **nodes.variables)
    command.wait_until(lambda: 1 in saved_steps(spread))
    for _ in range(3):
        with nodes.paused(SECOND):
            assert not until(lambda: command.ended, 4)
        assert not until(lambda: command.ended, 2)
    assert command.wait() == 0, command.output
    assert_whole(spread)
    assert "cluster: attempt" not in command.output
