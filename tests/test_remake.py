"""Making results again: outputs whose bytes differ are named, and the checkout stays as it is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from flows.remake import differing
from pipeline.base.errors import UserError
from tests.conftest import type_command

PIPELINE = """
stages:
  steady: {cmd: echo 1 > steady, outs: [steady]}
  drifting: {cmd: cat /proc/sys/kernel/random/uuid > drifting, outs: [drifting]}
"""


def repository(root: Path) -> Path:
    """A project of DVC with two outputs, of which one is another each time it is made."""
    root.mkdir()
    (root / "dvc.yaml").write_text(PIPELINE)
    identity = ("-c", "user.name=tests", "-c", "user.email=tests@example.org")
    for command in (
        ("git", "init", "-q"),
        ("dvc", "init", "-q"),
        ("dvc", "repro", "-q"),
        ("git", "add", "-A"),
        ("git", *identity, "commit", "-qm", "made"),
    ):
        done = type_command(root, root.parent, *command)
        assert done.returncode == 0, done.stderr
    return root


def test_what_differs_is_named(tmp_path: Path) -> None:
    root, said = repository(tmp_path / "a folder with spaces"), list[str]()
    made = (root / "drifting").read_text()
    assert differing(root, (), said.append) == ["drifting"]
    assert any("Running stage 'drifting'" in line for line in said)
    assert (root / "drifting").read_text() == made
    state = ("git", "status", "--porcelain")
    assert not subprocess.run(state, cwd=root, capture_output=True, check=True).stdout


def test_without_a_commit(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="must be a git repository with a commit"):
        differing(tmp_path, (), print)
