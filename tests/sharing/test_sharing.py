"""A checkout shares what it made through DVC's remote, and a fresh clone trains on from it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.formats.files import folder_digests
from tests.conftest import commit, edited, ended_well
from tests.sharing.emulator import BUCKET, KEYS, emulator

pytestmark = pytest.mark.chain


@pytest.fixture(scope="module")
def shared() -> Iterator[dict[str, str]]:
    """The variables of people who share a bucket."""
    with emulator() as url:
        yield {**KEYS, "AWS_ENDPOINT_URL": url}


def test_a_fresh_clone_gets_checkpoints_and_trains_on(
    reproduced: Path, shared: dict[str, str], tmp_path: Path
) -> None:
    home, clone = tmp_path / "home", tmp_path / "a clone"
    shutil.copytree(reproduced, home, symlinks=True)

    def typed(folder: Path, *command: str) -> str:
        done = ended_well(folder, *command, **shared)
        assert KEYS["AWS_SECRET_ACCESS_KEY"] not in done.stdout + done.stderr
        return done.stdout

    typed(home, "dvc", "remote", "add", "-d", "lab", f"s3://{BUCKET}/dvc")
    commit(home)
    typed(home, "dvc", "push", "-q")
    typed(home, "git", "clone", "-q", ".", str(clone))
    typed(clone, "dvc", "pull", "-q")
    assert folder_digests(clone / "weights") == folder_digests(home / "weights")
    assert "Running stage" not in typed(clone, "dvc", "repro")
    for file in (clone / "weights").rglob("*.safetensors"):
        assert file.stat().st_nlink > 1  # DVC's cache has the same one
    with edited(clone / "params.yaml") as content:
        content["cells"]["nano-hi"]["train"] = {"steps": 5}
    trained = typed(clone, "dvc", "repro", "train@nano-hi")
    assert "Running stage 'train@nano-hi'" in trained and "Running stage 'base" not in trained
    assert folder_digests(clone / "weights") != folder_digests(home / "weights")
