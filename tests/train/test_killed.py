"""A run killed at any instant ends in the same bytes; one without room keeps what it had."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from pipeline.train import checkpoint as checkpoints
from tests.train import tiny

# Before the first checkpoint; the best one half written; inside a later one, tensors half written;
# inside a step; between writing and renaming a checkpoint; and inside the last.
INSTANTS = {
    "grpo": (
        *("done 1", "half written after 1", "half written after 2", "updating after 3"),
        *("written after 4", "half written after 6"),
    ),
    "ppo": ("half written after 2", "updating after 3"),
}


def trained(project: Path, work: Path, algorithm: str, *instants: str) -> str:
    """Train in a process of its own, which is killed at each instant first; return what it says."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.train.tiny", str(work), algorithm, *instants],
        cwd=project,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("algorithm", INSTANTS)
def test_killed_at_any_instant_it_ends_in_the_same_bytes(
    algorithm: str, project: Path, tmp_path: Path
) -> None:
    whole = trained(project, tmp_path / "whole", algorithm)
    assert whole.startswith("digest ")
    assert trained(project, tmp_path / "killed", algorithm, *INSTANTS[algorithm]) == whole
    assert not list((tmp_path / "killed").rglob(".*.tmp"))


def test_without_room_the_last_checkpoint_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tiny.trainer(tmp_path / "full")
    write = checkpoints.write_tensors  # type: ignore[attr-defined]

    def fill(path: Path, tensors: dict[str, torch.Tensor]) -> None:
        if "step-000004" in str(path) and "state" in str(path):
            path.write_bytes(b"half")
            raise OSError(28, "No space left on device", str(path))
        write(path, tensors)

    monkeypatch.setattr(checkpoints, "write_tensors", fill)
    with pytest.raises(OSError, match="No space left"):
        run.run()
    state = tmp_path / "full" / "state"
    assert [path.name for path in state.iterdir()] == ["step-000002"]
    monkeypatch.undo()
    resumed, whole = tiny.trainer(tmp_path / "full"), tiny.trainer(tmp_path / "whole")
    resumed.run()
    whole.run()
    assert tiny.digest(resumed) == tiny.digest(whole)
