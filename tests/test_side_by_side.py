"""``tomrl run``: independent cells side by side, with the results of ``dvc repro``."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from pipeline.ops.driver.checkout import use_study
from tests.conftest import edited, ended_well, environment, type_command

pytestmark = pytest.mark.chain


@pytest.fixture
def seeded(reproduced: Path, tmp_path: Path) -> Path:
    """The reproduced checkout, whose study now has three seeds: data and base are there."""
    target = tmp_path / "a clone"
    shutil.copytree(reproduced, target, symlinks=True)
    with edited(target / "studies" / "mini.yaml") as study:
        study["grid"]["seeds"] = [0, 1, 2]
    use_study(target, "mini")
    return target


def metrics(checkout: Path, cell: str) -> bytes:
    return (checkout / "runs/mini" / cell / "train/metrics.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.nightly),
    ],
)
def test_cells_side_by_side_are_what_dvc_makes(
    reproduced: Path, seeded: Path, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    """Though all are stopped first, and then one fails."""
    with subprocess.Popen(
        ["tomrl", "run", "--jobs", "3"],
        cwd=seeded,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        training = (line for line in process.stdout if "Running stage 'train" in line)
        first = next(training)
        process.send_signal(number)
        first += process.stdout.read()
        assert "run it again to go on" in first
        assert process.wait(60) == status

    folder = seeded / "runs/mini/nano-hi-s1"
    shutil.rmtree(folder, ignore_errors=True)
    folder.write_text("in the way")
    failed = type_command(seeded, tmp_path, "tomrl", "run", "mini", "--jobs", "2")
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert "error: 1 of 4 cells failed; run them again with: tomrl run\n" in failed.stderr
    assert "\n  nano-hi-s1: " in failed.stderr
    assert f"Partial report: {seeded / 'logs/mini/partial/index.html'}" in failed.stderr
    for cell in ("nano-hi-s0", "nano-hi-s2"):
        assert f"'{cell}' - Running stage 'train@{cell}'" in first + failed.stderr
    assert metrics(seeded, "nano-hi-s0") == metrics(reproduced, "nano-hi")
    assert metrics(seeded, "nano-hi-s0") != metrics(seeded, "nano-hi-s2")

    folder.unlink()
    done = ended_well(seeded, "tomrl", "run")
    assert "Task run 'nano-hi-s1'" in done.stderr
    assert "Running stage 'train@nano-hi-s1'" in first + done.stderr
    assert "Task run 'nano-hi-s0'" not in done.stderr
    assert "Running stage 'train@nano-hi-s0'" not in done.stderr
    left = type_command(seeded, tmp_path, "dvc", "status")
    assert "Data and pipelines are up to date." in left.stdout
    again = type_command(seeded, tmp_path, "tomrl", "run")
    assert "study mini is up to date: nothing to run" in again.stdout and again.returncode == 0
