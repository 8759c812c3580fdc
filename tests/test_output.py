"""Output goes where it was asked to go: devices, pipes and links stay what they are."""

from __future__ import annotations

import json
import os
import shlex
import socket
import stat
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

TOMRL = shlex.quote(str(Path(sys.executable).with_name("tomrl")))
ROW = {"completion": "x</think><answer>tin</answer>", "ground_truth": "tin"}
FULL, NULL = os.makedev(1, 7), os.makedev(1, 3)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file of two responses."""
    path = tmp_path / "in.jsonl"
    path.write_text(f"{json.dumps(ROW)}\n" * 2)
    return path


def score(source: Path, output: Path | str, shell: str = "") -> subprocess.CompletedProcess[str]:
    command = f"{TOMRL} reward score --preset rlvr {source} -o '{output}' {shell}"
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=120
    )


def device(folder: Path, number: int) -> Path:
    """A device of this test's own: a mistake must not cost the machine's."""
    path = folder / "device"
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, number)
    except PermissionError:
        pytest.skip("device nodes can be made by root alone")
    return path


def test_a_full_device_is_one_error_and_stays_a_device(tmp_path: Path, source: Path) -> None:
    full = device(tmp_path, FULL)
    found = score(source, full)
    assert found.returncode == 2
    assert found.stderr == f"error: {full}: cannot be written (No space left on device)\n"
    assert full.is_char_device() and sorted(p.name for p in tmp_path.iterdir()) == [
        "device",
        "in.jsonl",
    ]


def test_a_null_device_takes_everything(tmp_path: Path, source: Path) -> None:
    null = device(tmp_path, NULL)
    link = tmp_path / "link"
    link.symlink_to(null)
    for target in (null, link):
        found = score(source, target)
        assert found.returncode == 0 and "2 scores written" in found.stdout
    assert null.is_char_device() and link.is_symlink()


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1"])
def test_standard_output_holds_the_rows_alone(tmp_path: Path, source: Path, name: str) -> None:
    found = score(source, name)
    assert found.returncode == 0 and "2 scores written" in found.stderr
    assert [json.loads(line)["correct"] for line in found.stdout.splitlines()] == [True, True]
    there = tmp_path / "there"
    assert score(source, name, f"> {there}").returncode == 0
    assert len(there.read_text().splitlines()) == 2
    assert not Path("-").exists()


def test_a_pipe_is_written_to(tmp_path: Path, source: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    assert score(source, pipe).returncode == 0
    reader.join(60)
    assert len(read[0].splitlines()) == 2 and pipe.is_fifo()


def test_a_socket_is_not_replaced(tmp_path: Path, source: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
        found = score(source, path)
    assert found.returncode == 2 and found.stderr.count("\n") == 1
    assert "cannot be written" in found.stderr and path.is_socket()


def test_a_link_to_a_file_stays_a_link(tmp_path: Path, source: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    (folder / "real").write_text("old")
    (folder / "real").chmod(0o600)
    for name in ("real", "new"):
        link = tmp_path / name
        link.symlink_to(folder / name)
        assert score(source, link).returncode == 0
        assert link.is_symlink() and len((folder / name).read_text().splitlines()) == 2
    assert stat.S_IMODE((folder / "real").stat().st_mode) == 0o600
    assert sorted(path.name for path in folder.iterdir()) == ["new", "real"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (".", "is a folder; name a file in it"),
        ("missing/out", "there is no folder"),
        ("loop", "cannot be written (Too many levels of symbolic links)"),
        ("in.jsonl", "is the input file; choose another output"),
        ("n" * 300, "cannot be written (File name too long)"),
    ],
)
def test_what_cannot_be_written_is_refused(
    tmp_path: Path, source: Path, name: str, why: str
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    found = score(source, tmp_path / name)
    assert found.returncode == 2 and why in found.stderr and found.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "loop"]
    assert source.read_text().count("\n") == 2


def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text(f"{json.dumps(ROW)}\n" * 20_000)
    found = score(source, "-", "2> /dev/null | head -1")
    assert found.returncode == 141 and len(found.stdout.splitlines()) == 1
    found = score(source, "-", "| head -1")
    assert found.stderr == ""


@pytest.mark.parametrize("command", ["tom explain -b tomi story.txt", "study list", "doctor"])
def test_a_full_standard_output_is_one_error(tmp_path: Path, command: str) -> None:
    full = device(tmp_path, FULL)
    story = tmp_path / "story.txt"
    story.write_text("1 Ann entered the hall.\n2 The hat is in the box.\n")
    typed = command.replace("story.txt", str(story))
    found = subprocess.run(
        f"{TOMRL} {typed} > {full}",
        shell=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[1],
        timeout=120,
    )
    assert found.returncode == 1
    assert found.stderr == "error: standard output: cannot be written (No space left on device)\n"
