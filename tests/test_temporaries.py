"""What killed processes left half-written is removed by the next run, if they are dead for sure."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.formats import temporaries
from pipeline.formats.files import remove_leftovers, replacing
from pipeline.formats.leftovers import ownerless, remove_leftovers_of
from pipeline.ops.driver.mend import mend_dvc
from tests.conftest import PROJECT, Run

WRITER = """
import os, signal, sys, time
from pathlib import Path
from pipeline.formats.files import replacing
with replacing(Path(sys.argv[1])) as temporary:
    if sys.argv[2] == "folder":
        temporary.mkdir()
        (temporary / "half").write_text("written")
    else:
        temporary.write_text("half-written")
    print(temporary, flush=True)
    time.sleep(600)
"""


def start_writer(target: Path, kind: str = "file") -> tuple[subprocess.Popen[str], Path]:
    command = [sys.executable, "-c", WRITER, str(target), kind]
    writer = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True)
    assert writer.stdout
    return writer, Path(writer.stdout.readline().rstrip("\n"))


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_process_left_goes_once_it_is_dead(tmp_path: Path, kind: str) -> None:
    writer, half = start_writer(tmp_path / "a folder" / "a.name", kind)
    try:
        remove_leftovers(half.parent)
        assert half.exists()
    finally:
        kill(writer)
    remove_leftovers(half.parent)
    assert list(half.parent.iterdir()) == []


def test_a_zombie_is_dead(tmp_path: Path) -> None:
    writer, half = start_writer(tmp_path / "a")
    os.kill(writer.pid, signal.SIGKILL)
    os.waitid(os.P_PID, writer.pid, os.WEXITED | os.WNOWAIT)  # nobody has collected it
    assert temporaries.has_no_owner(half)
    writer.wait()


def test_of_others_nobody_is_sure(tmp_path: Path) -> None:
    own = temporaries.beside(tmp_path / "a")
    assert temporaries.has_owner(own) and not temporaries.has_no_owner(own)
    place, rest = own.name.split("-", 1)
    here, pid = place[-8:], str(os.getpid())
    elsewhere = own.with_name(f"{place[:-8]}00000000-{rest}")
    before = own.with_name(".a.0123abcd.tmp")
    another = own.with_name(own.name.replace(f"{here}-{pid}-", f"{here}-{pid}-9"))
    foreign = own.with_name(".vscode.tmp")
    for path in (own, elsewhere, before, another, foreign):
        path.touch()
    assert temporaries.has_no_owner(another)
    remove_leftovers(tmp_path)
    assert set(tmp_path.iterdir()) == {own, elsewhere, before, foreign}


def test_a_long_name_is_cut(tmp_path: Path) -> None:
    with replacing(tmp_path / ("ü" * 120)) as temporary:
        temporary.write_text("a")
        assert temporaries.has_owner(temporary)
    assert [path.name for path in tmp_path.iterdir()] == ["ü" * 120]


def places(root: Path) -> list[Path]:
    return [
        root / ".params.yaml",
        root / "work" / "ab" / "state" / "step-000001",
        root / "runs" / "mini" / "nano-hi" / "train" / "metrics.jsonl",
        root / "logs" / "mini" / "timing.jsonl",
        root / "data" / "mini" / "raw" / "hi_tom",
        root / "mlflow.db",
        root / "weights" / "mini" / "nano-hi" / ("0" * 64),
    ]


def test_every_place_is_looked_at(tmp_path: Path) -> None:
    root = tmp_path / "root"
    dead = subprocess.Popen(["true"])
    pid = dead.pid
    dead.wait()
    for target in places(root):
        target.parent.mkdir(parents=True, exist_ok=True)
        own = temporaries.beside(target)
        own.with_name(own.name.replace(f"-{os.getpid()}-", f"-{pid}-")).touch()
        own.touch()
    remove_leftovers_of(root)
    left = list(tmp_path.rglob("*.tmp"))
    assert len(left) == len(places(root)) and all(map(temporaries.has_owner, left))
    assert list(ownerless(root)) == []


def test_a_stage_removes_them(typed: Run, checkout: Path) -> None:
    writer, half = start_writer(checkout / "logs" / "of another study" / "a", "folder")
    kill(writer)
    assert typed("python", "-m", "pipeline.stages.code").returncode == 0
    assert not half.exists()


@pytest.mark.parametrize(
    ("name", "content", "stays"),
    [
        (".dvc/tmp/rwlock", "", False),
        (".dvc/tmp/rwlock", '{"wri', False),
        (".dvc/tmp/rwlock", "{}", True),
        ("dvc.lock", "", False),
        ("dvc.lock", "schema: '2.0'\nstages:\n  code:\n    c", False),
        ("dvc.lock", "schema: '2.0'\nstages:\n  code:\n    deps: []\n", False),
        ("dvc.lock", "schema: '2.0'\nstages:\n  code:\n    cmd: a\n", True),
    ],
)
def test_what_dvc_was_killed_in_writing_is_removed(
    name: str, content: str, stays: bool, tmp_path: Path
) -> None:
    path = tmp_path / name
    mend_dvc(tmp_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    mend_dvc(tmp_path)
    assert path.exists() is stays
