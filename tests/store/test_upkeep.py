"""``tomrl store`` and its remote: what is mended, removed, and what cannot be had."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree

import pytest
from typer.testing import CliRunner

from pipeline.base.errors import UserError
from pipeline.cli.store import app
from pipeline.formats.store import LocalStore
from pipeline.ops.store.remote import FolderRemote
from pipeline.ops.store.transfer import partial_of, push
from tests.conftest import type_command
from tests.store.emulator import BUCKET, KEYS, client, emulator


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


@pytest.fixture
def typed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Type a command of ``tomrl store`` there, without a process of its own."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TOMRL_STORE_REMOTE", "remote")
    monkeypatch.delenv("TOMRL_STORE", raising=False)

    def run(*command: str, status: int = 0) -> str:
        done = CliRunner().invoke(app, command)
        assert done.exit_code == status, done.output
        return done.output

    return run


def test_a_remote_is_read_mended_and_pruned(folder: Path, typed: Callable[..., str]) -> None:
    assert "would push 1 object, 13 bytes" in typed("push", "--dry-run")
    assert "pushed 1 object, 13 bytes" in typed("push")
    assert "2 objects in" in (said := typed("verify", "--remote", "remote")), said
    (altered,) = [p for p in (folder / "remote" / "parts").iterdir() if p.read_text() == "named"]
    altered.write_text("wrong")
    said = typed("verify", "--remote", "remote", status=1)
    assert f"parts/{altered.name} in {folder / 'remote'} is altered" in said and "1 fault\n" in said
    typed("push", "--check")
    assert altered.read_text() == "named"

    prune = ("prune", "--remote", "remote", "--checkout", ".", "--hours", "0")
    what = "1 object that nothing names, 2 parts"
    assert f"would remove {what}" in typed(*prune, "--dry-run")
    assert f"removed {what}" in typed(*prune, "--yes")
    assert "1 object in" in typed("verify", "--remote", "remote")


SKEWED = """
import sys, time
right = time.time
time.time = lambda: right() + 2 * 86400
from pipeline.cli.app import app
app(sys.argv[1:])
"""


def test_a_machine_whose_clock_is_ahead_keeps_what_is_being_pushed(folder: Path) -> None:
    """It goes by the clock of the server, whose own times the remote's are."""
    with emulator() as url:
        client(url).put_object(Bucket=BUCKET, Key="tom/parts/" + "0" * 64, Body=b"being pushed")
        done = type_command(
            folder,
            folder.parent,
            *(sys.executable, "-c", SKEWED, "store", "prune", "--remote", f"s3://{BUCKET}/tom"),
            *("--checkout", ".", "--yes"),
            **KEYS,
            AWS_ENDPOINT_URL=url,
        )
        assert "nothing to remove" in done.stdout, done.stdout + done.stderr
        assert client(url).list_objects_v2(Bucket=BUCKET, Prefix="tom/")["KeyCount"] == 1


def test_half_of_a_pull_is_removed(folder: Path, typed: Callable[..., str]) -> None:
    half = partial_of(LocalStore(folder / "store"), "1" * 64)
    half.mkdir()
    assert "half of a pull" not in typed("prune", "--dry-run")
    assert f"removed half of a pull: {half}" in typed("prune", "--yes", "--hours", "0")
    assert not half.exists()


def test_what_cannot_be_had_is_one_error(
    folder: Path, typed: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*command: str) -> str:
        done = CliRunner().invoke(app, command)
        assert isinstance(done.exception, UserError), done.output
        return str(done.exception)

    said = refused("push", "--remote", "s3://k:s3cret@lab/x")
    assert "s3://BUCKET/PREFIX" in said and "s3cret" not in said
    rmtree(folder / "store")
    for command in ("pull", "pull --dry-run"):
        said = refused(*command.split())
        assert f"1 object not in {folder / 'remote'}:" in said and "runs/checkpoints.json" in said
    assert "1 object neither in" in refused("push")
    assert "--checkout" in refused("prune", "--remote", "remote")
    assert "no checkout" in refused("prune", "--remote", "remote", "--checkout", "runs")
    monkeypatch.delenv("TOMRL_STORE_REMOTE")
    assert "set TOMRL_STORE_REMOTE, or name it with --remote" in refused("pull")
    for damaged in ("{", "[]", '{"checkpoints": {"best": {"digest": "../x"}}}'):
        (folder / "runs" / "checkpoints.json").write_text(damaged)
        assert "checkpoints.json is damaged" in refused("pull", "--remote", "remote")
    rmtree(folder / "runs")
    assert "get results first: dvc pull" in refused("pull", "--remote", "remote")


@pytest.mark.parametrize("command", ["push", "pull"])
def test_no_room_is_one_error_and_leaves_nothing(
    folder: Path, typed: Callable[..., str], command: str
) -> None:
    store, remote = LocalStore(folder / "store"), FolderRemote(folder / "remote")
    (folder / "named" / "weights").write_bytes(bytes(50_000))
    digest = store.put(folder / "named")
    manifest = {"checkpoints": {"best": {"digest": digest}}}
    (folder / "runs" / "checkpoints.json").write_text(json.dumps(manifest))
    if command == "pull":
        push(store, remote, digest, lambda done: None)
        store.prune(set())
    done = type_command(
        folder,
        folder.parent,
        *("bash", "-c", f"ulimit -f 20; tomrl store {command} --remote remote"),
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("error: no room to write ") and done.stderr.count("\n") == 1
    assert [path for path in folder.rglob(".*") if "git" not in path.name] == []
    assert digest in store.digests() or command == "pull"
    assert f"{command}ed 1 object" in typed(command)
