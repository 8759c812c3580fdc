"""How a job ends otherwise: hung, out of room, out of memory, moved to other hardware; nightly."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.formats.files import read_lines
from tests.conftest import ended_well, type_command
from tests.engines.conftest import GRPO, STEPS, Start, edit_params, own_checkout, saved_steps

pytestmark = [pytest.mark.chain, pytest.mark.nightly]
STAGE = ("python", "-m", "pipeline.stages.train", GRPO)


def test_a_hung_worker_is_ended_by_the_heartbeat(checkout: Path, start: Start) -> None:
    edit_params(checkout, GRPO, stall_minutes=0.5, retries=0)
    command = start(checkout, *STAGE)
    command.wait_until(lambda: bool(saved_steps(checkout)))
    workers = command.named("WorkerDict")
    assert len(workers) == 2
    workers[0].suspend()
    assert command.wait() == 2
    assert "the job stalled after 1 attempt: hung: stopped after 30 s" in command.output
    assert "resume from the last checkpoint" in command.output
    assert saved_steps(checkout), "the checkpoint to go on from is kept"


@pytest.fixture(scope="module")
def full(
    study: Path, tmp_path_factory: pytest.TempPathFactory, start: Start
) -> tuple[Path, str, list[int]]:
    """A checkout whose training met a full disk at step 2; its message and the steps it saved."""
    checkout = own_checkout(study, tmp_path_factory.mktemp("full") / "checkout")
    command = start(checkout, *STAGE)
    command.wait_until(
        lambda: bool(list((checkout / "work").glob("*/attempts/*/checkpoints/probe.json")))
    )
    state = next((checkout / "work").glob("*/attempts/*/checkpoints"))
    shard = state / "global_step_2" / "actor" / "optim_world_size_2_rank_1.pt"
    shard.parent.mkdir(parents=True)
    shard.symlink_to("/dev/full")  # what a worker's disk without room would answer
    assert command.wait() == 2
    return checkout, command.output, saved_steps(checkout)


def test_a_full_disk_is_named_and_the_last_checkpoint_kept(
    full: tuple[Path, str, list[int]],
) -> None:
    _, shown, saved = full
    assert "no room to write a checkpoint in" in shown
    assert "the last complete one is kept" in shown
    assert saved == [1]


def test_another_number_of_processes_is_refused_by_name(full: tuple[Path, str, list[int]]) -> None:
    checkout, _, _ = full
    edit_params(checkout, GRPO, gpus=1)
    moved = type_command(checkout, checkout.parent, *STAGE)
    edit_params(checkout, GRPO, gpus=2)
    assert moved.returncode == 2
    assert "was written by 2 processes and this job has 1" in moved.stderr
    assert "Set train.cluster.gpus (times nodes) to 2" in moved.stderr


def test_training_goes_on_once_there_is_room(
    full: tuple[Path, str, list[int]], tmp_path: Path
) -> None:
    checkout, _, saved = full
    own = own_checkout(checkout, tmp_path / "checkout")
    done = ended_well(own, *STAGE)
    rows = read_lines(own / "runs/mini" / GRPO / "train/metrics.jsonl")
    assert [row["step"] for row in rows] == list(range(STEPS + 1))
    assert f"goes on after step {saved[-1]} of {STEPS}" in done.stdout


def test_a_node_out_of_memory_names_the_parameter(checkout: Path) -> None:
    done = type_command(
        checkout,
        checkout.parent,
        *STAGE,
        RAY_memory_usage_threshold="0.01",
        RAY_memory_monitor_refresh_ms="100",
    )
    assert done.returncode == 2
    assert "too little memory of its own" in done.stderr
    assert f"cells.{GRPO}.train.cluster.nodes (now 1)" in done.stderr


def test_a_reward_module_that_does_not_import_is_named(checkout: Path) -> None:
    path = checkout / "pipeline" / "reward" / "verl_entry.py"
    path.write_text(f"{path.read_text()}\nimport a_module_that_is_not_there\n")
    done = type_command(checkout, checkout.parent, *STAGE)
    assert done.returncode == 2
    assert "the reward module pipeline/reward/verl_entry.py does not import" in done.stderr
    assert "No module named 'a_module_that_is_not_there'" in done.stderr
