"""Accelerators of one machine: whoever trains beside another one has others, or waits."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
import torch

from pipeline.base.errors import UserError
from pipeline.engine.device import own_gpu
from pipeline.ops.cluster.client import Address, check_room, connect
from pipeline.ops.cluster.gpus import leased, visible
from tests.cluster.conftest import CPUS, MakeJob
from tests.gpus import path_with_gpus


@pytest.fixture(autouse=True)
def four_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose nvidia-smi names four accelerators."""
    monkeypatch.setenv("PATH", path_with_gpus(tmp_path, 4, "GPU-"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_an_accelerator_has_one_name_however_it_is_shown() -> None:
    assert visible({**os.environ, "CUDA_VISIBLE_DEVICES": "2, GPU-33"}) == {
        "2": "GPU-22",
        "GPU-33": "GPU-33",
    }
    assert visible({**os.environ, "CUDA_VISIBLE_DEVICES": ""}) == {}
    assert list(visible(os.environ)) == ["0", "1", "2", "3"]


def test_jobs_side_by_side_have_disjoint_accelerators_and_a_third_waits() -> None:
    said: list[str] = []
    with leased(2, 2, os.environ, said.append) as one:
        with leased(2, 2, os.environ, said.append) as two:
            assert (one.devices, two.devices) == (("0", "1"), ("2", "3"))
            assert one.variables == {"CUDA_VISIBLE_DEVICES": "0,1"}
            third: list[tuple[str, ...]] = []

            def take() -> None:
                with leased(1, 4, os.environ, said.append) as found:
                    third.append(found.devices)

            thread = threading.Thread(target=take)
            thread.start()
            while not said:
                time.sleep(0.05)
            assert third == []
        thread.join(30)
    assert third == [("2", "3")]
    assert said == ["waiting for 1 free GPUs of this machine, 0 of 4 now"]


def test_what_trains_or_answers_in_its_own_process_has_a_gpu_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As the local trainer and the engine ``hf`` do, beside jobs that hold some of the four."""
    chosen: list[int] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,1,GPU-22")
    held = leased(1, 1, {"CUDA_VISIBLE_DEVICES": "1"}, print)
    with held, own_gpu("auto", print), own_gpu("cuda", print), own_gpu("cpu", print):
        assert chosen == [0, 2], "the places of 3 and GPU-22"
    with own_gpu("auto", print):
        assert chosen == [0, 2, 0], "an accelerator that is free again"


def test_a_child_that_inherits_a_lease_holds_it_on() -> None:
    """As the keeper of a head does whose own process was killed."""
    program = (
        "import os, subprocess, sys\n"
        "from pipeline.ops.cluster.gpus import leased\n"
        "with leased(3, 3, os.environ, print) as own:\n"
        "    child = subprocess.Popen(['sleep', '60'], stdout=-3, pass_fds=own.handles)\n"
        "    print(child.pid, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    environment = {**os.environ, "TMPDIR": tempfile.gettempdir()}
    killed = subprocess.run(
        [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, check=False
    )
    child = int(killed.stdout)
    with leased(1, 4, os.environ, print) as free:
        assert free.devices == ("3",)
    os.kill(child, 9)
    with leased(4, 4, os.environ, print) as free:
        assert len(free.devices) == 4


def test_too_few_processors_are_refused_with_numbers(head: Address, make_job: MakeJob) -> None:
    """verl would wait for ever for cores of Ray's that are not there."""
    job = make_job("pass", gpus=1, helper_cpus=CPUS, rank_cpus=3)
    with pytest.raises(
        UserError, match=rf"{CPUS + 3} CPUs in all; .* have: 2 GPUs and {CPUS} CPUs"
    ):
        check_room(connect(head), job)
    check_room(connect(head), make_job("pass", helper_cpus=5, rank_cpus=3))
