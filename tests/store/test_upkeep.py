"""What is found wrong in a remote, what is mended, and what is removed from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.store import LocalStore
from pipeline.store_remote import FolderRemote
from pipeline.store_transfer import partial_of, push
from tests.conftest import type_command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkout with two objects, of which its results name one."""
    root = tmp_path / "checkout"
    (root / "runs").mkdir(parents=True)
    (root / "dvc.yaml").write_text("stages: {}\n")
    store = LocalStore(root / "store")
    for name in ("named", "other"):
        (root / name).mkdir()
        (root / name / "weights").write_text(name)
        (root / name / "tokens").write_text("the same")
    digest = store.put(root / "named")
    (root / "runs" / "checkpoints.json").write_text(
        json.dumps({"checkpoints": {"best": {"digest": digest}}})
    )
    remote = FolderRemote(root / "remote")
    push(store, remote, store.put(root / "other"), lambda done: None)
    remote.put("parts/" + "0" * 64, b"of a push that never ended")
    return root


def typed(folder: Path, *command: str, status: int = 0) -> str:
    done = type_command(
        folder, folder.parent, "tomrl", "store", *command, TOMRL_STORE_REMOTE="remote"
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_remote_is_read_mended_and_pruned(folder: Path) -> None:
    assert "would push 1 object, 13 bytes" in typed(folder, "push", "--dry-run")
    assert "pushed 1 object, 13 bytes" in typed(folder, "push")
    assert "2 objects in" in (said := typed(folder, "verify", "--remote", "remote")), said
    (altered,) = [p for p in (folder / "remote" / "parts").iterdir() if p.read_text() == "named"]
    altered.write_text("wrong")
    said = typed(folder, "verify", "--remote", "remote", status=1)
    assert f"parts/{altered.name} in {folder / 'remote'} is altered" in said and "1 fault\n" in said
    typed(folder, "push", "--check")
    assert altered.read_text() == "named"

    prune = ("prune", "--remote", "remote", "--checkout", ".", "--hours", "0")
    what = "1 object that nothing names, 2 parts"
    assert f"would remove {what}" in typed(folder, *prune, "--dry-run")
    assert f"removed {what}" in typed(folder, *prune, "--yes")
    assert "1 object in" in typed(folder, "verify", "--remote", "remote")


def test_half_of_a_pull_is_removed(folder: Path) -> None:
    half = partial_of(LocalStore(folder / "store"), "1" * 64)
    half.mkdir()
    assert "half of a pull" not in typed(folder, "prune", "--dry-run")
    assert f"removed half of a pull: {half}" in typed(folder, "prune", "--yes", "--hours", "0")
    assert not half.exists()
