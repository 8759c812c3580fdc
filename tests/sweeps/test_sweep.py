"""``tomrl sweep``: real worktrees, a real Prefect server, a kill, and the same bytes."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.alive import alive, until
from tests.conftest import edited, environment, type_command

pytestmark = pytest.mark.chain
CELLS = ("nano-hi-s0", "nano-hi-s1")


@pytest.fixture(scope="module")
def seeded(
    reproduced: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A committed clone with two seeds; what cells share, and ``nano-base``, are in its cache."""
    home = tmp_path_factory.mktemp("sweep")
    target = home / "a clone"
    shutil.copytree(reproduced[0], target, symlinks=True)
    with edited(target / "studies" / "mini.yaml") as study:
        study["grid"]["seeds"] = [0, 1]
    for command in (
        ["git", "add", "--all"],
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a study"],
    ):
        subprocess.run(command, cwd=target, check=True)
    yield target
    for process in alive(home):
        process.kill()


def status(checkout: Path) -> dict[str, object]:
    said = type_command(checkout, checkout.parent, "tomrl", "sweep", "status", "mini", "--json")
    assert said.returncode == 0, said.stderr
    found: dict[str, object] = json.loads(said.stdout)
    return found


def test_a_killed_sweep_goes_on_and_ends_in_the_same_bytes(
    reproduced: tuple[Path, str], seeded: Path
) -> None:
    with (seeded.parent / "shown").open("w") as shown:
        first = subprocess.Popen(
            ["tomrl", "sweep", "--study", "mini", "--concurrency", "2"],
            cwd=seeded,
            env=environment(seeded.parent),
            stdout=shown,
            stderr=subprocess.STDOUT,
        )
    folder = seeded / "work" / "sweeps" / "mini"
    trains = folder / "trees" / "cells" / CELLS[1] / "work"
    assert until(lambda: list(trains.glob("*/state/step-*")) or first.poll() is not None, 600)
    assert first.poll() is None, (seeded.parent / "shown").read_text()
    second = type_command(seeded, seeded.parent, "tomrl", "sweep", "--study", "mini")
    assert second.returncode == 2 and f"kill {first.pid}" in second.stderr
    assert status(seeded)["under_way"] is True
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert until(lambda: not alive(seeded.parent)), alive(seeded.parent)
    found = status(seeded)
    assert found["under_way"] is False and found["cells"][CELLS[1]]["state"] == "stopped"

    original = (seeded / "studies" / "mini.yaml").read_bytes()
    with edited(seeded / "studies" / "mini.yaml") as study:
        study["train"]["steps"] = 3
    done = type_command(seeded, seeded.parent, "tomrl", "sweep", "--study", "mini")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "was edited since sweep mini began, which goes on with its copy" in done.stdout
    (seeded / "studies" / "mini.yaml").write_bytes(original)

    assert "Running stage" not in (folder / "logs" / "restore.log").read_text()
    clean = type_command(seeded, seeded.parent, "dvc", "status")
    assert "Data and pipelines are up to date." in clean.stdout
    for name in ("train/metrics.jsonl", "evaluate/metrics.json"):
        mine = seeded / "runs" / "mini" / CELLS[0] / name
        assert mine.read_bytes() == (reproduced[0] / "runs/mini/nano-hi" / name).read_bytes()
    log = (folder / "logs" / f"{CELLS[1]}.log").read_text()
    assert log.count("Updating lock file") == 4  # each stage of the cell ended once
    assert not (folder / "trees").exists()
    assert status(seeded)["ended"]
    again = type_command(seeded, seeded.parent, "tomrl", "sweep", "--study", "mini")
    assert again.returncode == 0 and "study mini is up to date: nothing to run" in again.stdout
