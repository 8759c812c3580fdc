"""``tomrl repro``: independent cells side by side, with the results of ``dvc repro``."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import edited, environment, type_command

pytestmark = pytest.mark.chain
CELLS = ("nano-hi-s0", "nano-hi-s1", "nano-hi-s2")


@pytest.fixture
def seeded(reproduced: tuple[Path, str], tmp_path: Path) -> Path:
    """The reproduced checkout, whose study now has three seeds: data and base are there."""
    target = tmp_path / "a clone"
    shutil.copytree(reproduced[0], target, symlinks=True)
    with edited(target / "studies" / "mini.yaml") as study:
        study["grid"]["seeds"] = [0, 1, 2]
    used = type_command(target, tmp_path, "tomrl", "study", "use", "mini")
    assert used.returncode == 0, used.stderr
    return target


def metrics(checkout: Path, cell: str) -> bytes:
    return (checkout / "runs/mini" / cell / "train/metrics.jsonl").read_bytes()


def test_cells_side_by_side_are_what_dvc_makes(
    reproduced: tuple[Path, str], seeded: Path, tmp_path: Path
) -> None:
    done = type_command(seeded, tmp_path, "tomrl", "repro", "--jobs", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    for cell in CELLS:
        assert f"{cell} | Running stage 'train@{cell}'" in done.stdout
    assert metrics(seeded, "nano-hi-s0") == metrics(reproduced[0], "nano-hi")
    assert metrics(seeded, "nano-hi-s0") != metrics(seeded, "nano-hi-s1")
    status = type_command(seeded, tmp_path, "dvc", "status")
    assert "Data and pipelines are up to date." in status.stdout
    again = type_command(seeded, tmp_path, "tomrl", "repro")
    assert "study mini is up to date: nothing to run" in again.stdout and again.returncode == 0


def test_other_cells_go_on_when_one_fails(seeded: Path, tmp_path: Path) -> None:
    blocked = seeded / "runs/mini/nano-hi-s1"
    blocked.write_text("in the way")
    done = type_command(seeded, tmp_path, "tomrl", "repro", "mini", "--jobs", "2")
    assert done.returncode == 1
    assert "error: 1 of 4 cells failed: nano-hi-s1; the causes are printed" in done.stderr
    assert metrics(seeded, "nano-hi-s0") and metrics(seeded, "nano-hi-s2")
    blocked.unlink()
    done = type_command(seeded, tmp_path, "tomrl", "repro", "--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Running stage 'train@nano-hi-s1'" in done.stdout
    assert "Running stage 'train@nano-hi-s0'" not in done.stdout


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.nightly),
    ],
)
def test_it_stops_with_all_its_cells(
    seeded: Path, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    with subprocess.Popen(
        ["tomrl", "repro", "--jobs", "2"],
        cwd=seeded,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        training = (line for line in process.stdout if "Running stage 'train" in line)
        assert next(training)
        process.send_signal(number)
        started = time.monotonic()
        process.stdout.read()
        assert process.wait(60) == status and time.monotonic() - started < 30
        assert "run it again to go on" in process.stderr.read()
    done = type_command(seeded, tmp_path, "tomrl", "repro", "--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
