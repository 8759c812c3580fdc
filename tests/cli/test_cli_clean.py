"""``tomrl clean`` and ``tomrl store``: what they name, what they keep, what they refuse."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from pipeline.formats.store import LocalStore
from tests.conftest import Run
from tests.test_ownership import start_owner


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_dry_run_says_what_would_go_and_how_much(typed: Run, checkout: Path) -> None:
    write(checkout / "work" / "ab" / "state" / "a", "x" * 2000)
    write(checkout / "runs" / "mini" / "b", "x" * 500)
    left = write(checkout / ".params.yaml.0123abcd.tmp", "x" * 70)
    stored = write(checkout / "store" / ".c.0123abcd.tmp", "x" * 30)
    done = typed("tomrl", "clean", "--dry-run")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    for line in (
        "runs 500 bytes",
        "work 2.0 kB",
        "work/ab 2.0 kB interrupted work",
        ".params.yaml.0123abcd.tmp 70 bytes left half-written",
        "store/.c.0123abcd.tmp 30 bytes left half-written",
        "in all 2.6 kB",
    ):
        assert line in said, said
    assert (checkout / "work" / "ab").exists() and left.exists()
    done = typed("tomrl", "clean", "--yes")
    assert done.stdout.startswith("removed runs, work, ")
    assert not (checkout / "work").exists() and not left.exists() and not stored.exists()
    assert (checkout / "store").exists()
    assert (checkout / "studies/mini.yaml").exists() and (checkout / "params.yaml").exists()
    assert typed("tomrl", "clean", "--yes").stdout == "nothing to remove\n"


def test_work_under_way_is_not_cleaned(typed: Run, checkout: Path) -> None:
    folder, made = checkout / "work" / "ab", checkout / "data" / "mini"
    folder.mkdir(parents=True)
    made.mkdir(parents=True)
    owner = start_owner(folder)
    try:
        done = typed("tomrl", "clean", "--yes")
    finally:
        owner.kill()
        owner.wait()
    assert done.returncode == 2 and folder.exists()
    assert f"work/ab is in use by process {owner.pid}" in done.stderr
    assert typed("tomrl", "clean", "--yes").returncode == 0
    assert not folder.exists() and not made.exists()


@pytest.fixture
def objects(checkout: Path, tmp_path: Path) -> dict[str, str]:
    """Objects in the store, by who names them."""
    store, found = LocalStore(checkout / "store"), {}
    for name in ("run", "work", "worktree", "cache", "nobody"):
        found[name] = store.put(write(tmp_path / name / "weights", name).parent)
    for command in (
        ("add", "-A"),
        ("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "first"),
        ("worktree", "add", "-q", str(tmp_path / "beside"), "-b", "beside"),
    ):
        subprocess.run(["git", *command], cwd=checkout, check=True)
    for folder, name in (
        (checkout / "runs" / "mini" / "nano-hi" / "train" / "checkpoints.json", "run"),
        (checkout / "work" / "ab" / "made.json", "work"),
        (tmp_path / "beside" / "runs" / "mini" / "checkpoints.json", "worktree"),
        (checkout / ".dvc" / "cache" / "files" / "md5" / "ab" / "cdef", "cache"),
    ):
        write(folder, json.dumps({"checkpoints": {"best": {"digest": found[name]}}}))
    return found


def test_prune_removes_what_nothing_names(
    typed: Run, checkout: Path, objects: dict[str, str]
) -> None:
    store = LocalStore(checkout / "store")
    done = typed("tomrl", "store", "prune", "--yes")
    assert done.returncode == 0, done.stderr
    assert "kept 1 object, 6 bytes: named by nothing, put there in the last 24" in done.stdout
    dry = typed("tomrl", "store", "prune", "--dry-run", "--hours", "0")
    assert "kept 3 objects, 15 bytes: named by results or work that are present" in dry.stdout
    assert "kept 1 object, 5 bytes: named by results in the DVC cache alone" in dry.stdout
    assert "would remove 1 object, 6 bytes" in dry.stdout and objects["nobody"] in dry.stdout
    assert sorted(objects.values()) == store.digests()
    done = typed("tomrl", "store", "prune", "--yes", "--hours", "0")
    assert "removed 1 object, 6 bytes" in done.stdout
    assert sorted(set(objects.values()) - {objects["nobody"]}) == store.digests()
    assert "nothing to remove" in typed("tomrl", "store", "prune", "--hours", "0").stdout


def test_a_store_that_others_may_use_is_not_pruned_unasked(
    typed: Run, checkout: Path, tmp_path: Path
) -> None:
    store = LocalStore(tmp_path / "shared")
    digest = store.put(write(tmp_path / "a" / "weights", "a").parent)
    command = ("tomrl", "store", "prune", "--yes", "--hours", "0")
    done = typed(*command, TOMRL_STORE=str(store.root))
    assert done.returncode == 2 and "name each with --checkout FOLDER" in done.stderr
    done = typed(*command, "--checkout", str(tmp_path), TOMRL_STORE=str(store.root))
    assert done.returncode == 2 and "no checkout" in done.stderr
    assert store.digests() == [digest]
    done = typed(*command, "--checkout", str(checkout), TOMRL_STORE=str(store.root))
    assert done.returncode == 0 and store.digests() == []


def test_verify_names_what_is_altered(typed: Run, checkout: Path, objects: dict[str, str]) -> None:
    done = typed("tomrl", "store", "verify")
    assert done.returncode == 0 and done.stdout == "5 objects, 0 altered\n"
    (checkout / "store" / objects["run"] / "weights").write_text("other")
    done = typed("tomrl", "store", "verify")
    assert done.returncode == 1 and f"store/{objects['run']}" in done.stdout
