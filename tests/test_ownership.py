"""A folder of state has one owner; who comes second is told, and a dead owner owns nothing."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pipeline.base.locks import is_locked, locked
from pipeline.base.ownership import is_owned, owned
from tests.conftest import PROJECT

OWNER = """
import sys, time
from pathlib import Path
from pipeline.base.ownership import owned
with owned(Path(sys.argv[1])):
    print("owned", flush=True)
    time.sleep(600)
"""


def start_owner(folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", OWNER, str(folder)]
    owner = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE)
    assert owner.stdout and owner.stdout.readline() == b"owned\n"
    return owner


def test_a_killed_owner_owns_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "ab"
    owner = start_owner(folder)
    owner.kill()
    owner.wait()
    assert not is_owned(folder)
    with owned(folder, patience=0):
        assert is_owned(folder)
    assert list(tmp_path.iterdir()) == []


def test_the_second_waits_for_one_that_is_about_to_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "ab"
    owner = start_owner(folder)
    threading.Timer(0.5, owner.kill).start()
    with owned(folder, patience=30):
        assert owner.wait(1) == -9
    assert "waiting for it to end" in capsys.readouterr().err


def test_an_error_inside_is_none_of_the_lock(tmp_path: Path) -> None:
    with pytest.raises(BlockingIOError, match="mine"), owned(tmp_path / "ab"):
        raise BlockingIOError("mine")
    assert list(tmp_path.iterdir()) == []


def test_many_take_turns(tmp_path: Path) -> None:
    """Each reads a number and writes the next one: a lock that two hold loses some."""
    count, lock = tmp_path / "count", tmp_path / "a.lock"
    count.write_text("0")
    script = (
        "import sys; from pathlib import Path; from pipeline.base.locks import locked\n"
        "count, lock = map(Path, sys.argv[1:])\n"
        "for _ in range(100):\n"
        "    with locked(lock): count.write_text(str(int(count.read_text()) + 1))\n"
    )
    command = [sys.executable, "-c", script, str(count), str(lock)]
    crowd = [subprocess.Popen(command, cwd=PROJECT) for _ in range(4)]
    assert [process.wait(60) for process in crowd] == [0] * 4
    assert count.read_text() == "400" and not lock.exists()


def test_looking_takes_no_lock(tmp_path: Path) -> None:
    lock = tmp_path / "a.lock"
    assert not is_locked(lock) and not lock.exists()
    with locked(lock):
        assert is_locked(lock)
    lock.touch()
    assert not is_locked(lock) and lock.exists()
