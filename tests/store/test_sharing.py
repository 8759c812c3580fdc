"""A checkout shares what it made, and a fresh clone trains on from it, through the commands."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import edited, type_command
from tests.store.emulator import BUCKET, KEYS, emulator

pytestmark = pytest.mark.chain


@pytest.fixture(scope="module")
def shared() -> Iterator[dict[str, str]]:
    """The variables of people who share a bucket."""
    with emulator() as url:
        yield {**KEYS, "AWS_ENDPOINT_URL": url, "TOMRL_STORE_REMOTE": f"s3://{BUCKET}/store"}


def test_a_fresh_clone_gets_checkpoints_and_trains_on(
    reproduced: Path, shared: dict[str, str], tmp_path: Path
) -> None:
    home, clone = tmp_path / "home", tmp_path / "a clone"
    shutil.copytree(reproduced, home, symlinks=True)
    objects = sorted(path.name for path in (home / "store").iterdir())

    def typed(folder: Path, *command: str) -> str:
        done = type_command(folder, tmp_path, *command, **shared)
        assert done.returncode == 0, done.stdout + done.stderr
        assert KEYS["AWS_SECRET_ACCESS_KEY"] not in done.stdout + done.stderr
        return done.stdout

    for command in (
        ("dvc", "remote", "add", "-d", "lab", f"s3://{BUCKET}/dvc"),
        ("git", "config", "user.name", "a"),
        ("git", "config", "user.email", "a@b.c"),
        ("git", "add", "-A"),
        ("git", "commit", "-qm", "all"),
        ("dvc", "push", "-q"),
    ):
        typed(home, *command)
    assert "pushed 3 objects" in typed(home, "tomrl", "store", "push")

    typed(tmp_path, "git", "clone", "-q", str(home), str(clone))
    assert not (clone / "store").exists()
    assert "pulled 3 objects" in typed(clone, "sh", "-c", "dvc pull -q && tomrl store pull")
    assert sorted(path.name for path in (clone / "store").iterdir()) == objects
    assert "3 objects, 0 altered" in typed(clone, "tomrl", "store", "verify")
    assert "Running stage" not in typed(clone, "dvc", "repro")
    with edited(clone / "params.yaml") as content:
        content["cells"]["nano-hi"]["train"]["steps"] = 5
    trained = typed(clone, "dvc", "repro", "train@nano-hi")
    assert "Running stage 'train@nano-hi'" in trained and "Running stage 'base" not in trained
    assert len(list((clone / "store").iterdir())) > len(objects)
