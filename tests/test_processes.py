"""A child ends with its parent, whatever way the parent ends: stages, DVC, Prefect's server."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.base.processes import began, ending_with_this, lives
from tests.alive import alive, until
from tests.conftest import PROJECT, edited, environment, expand, type_command

STAGE = """
import os, sys, time
from pathlib import Path
from pipeline.base import processes
from pipeline.stages import common, expand

processes.GRACE_SECONDS = 1.0

def work(stage):
    Path("working").touch()
    while True:
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            Path("asked").open("a").write("once ")
            if not Path("deaf").exists():
                raise

Path("started").touch()
while Path("wait before").exists():
    time.sleep(0.1)
common.run("slow", work, expand.written)
"""


@pytest.fixture
def pipeline(tmp_path: Path) -> Iterator[Path]:
    """A folder with a DVC pipeline of one stage that works until it is asked to stop."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    shutil.copy(PROJECT / "params.yaml", folder)
    (folder / "slow.py").write_text(STAGE)
    for command in (("git", "init", "-q"), ("dvc", "init", "-q")):
        subprocess.run(command, cwd=folder, check=True, env=environment(tmp_path))
    yield folder
    for process in alive(tmp_path):
        process.kill()


def repro(folder: Path, command: str = "python slow.py") -> subprocess.Popen[bytes]:
    (folder / "dvc.yaml").write_text(f"stages:\n  slow:\n    cmd: {command}\n")
    variables = {**environment(folder.parent), "SHELL": "/bin/sh", "PYTHONPATH": str(PROJECT)}
    return subprocess.Popen(["dvc", "repro"], cwd=folder, env=variables, start_new_session=True)


def assert_ended_once_asked(dvc: subprocess.Popen[bytes], pipeline: Path) -> None:
    dvc.wait(10)
    assert until(lambda: not alive(pipeline.parent)), alive(pipeline.parent)
    assert (pipeline / "asked").read_text() == "once "


@pytest.mark.parametrize(
    ("number", "command"),
    [
        (signal.SIGTERM, "python slow.py"),
        (signal.SIGKILL, "python slow.py && echo a shell between"),
    ],
)
def test_a_stage_stops_when_its_dvc_is_gone(
    pipeline: Path, command: str, number: signal.Signals
) -> None:
    dvc = repro(pipeline, command)
    assert until((pipeline / "working").exists)
    dvc.send_signal(number)
    assert_ended_once_asked(dvc, pipeline)


def test_a_stage_that_does_not_listen_is_killed(pipeline: Path) -> None:
    (pipeline / "deaf").touch()
    dvc = repro(pipeline)
    assert until((pipeline / "working").exists)
    dvc.kill()
    assert_ended_once_asked(dvc, pipeline)


def test_a_stage_orphaned_before_it_looks_stops(pipeline: Path) -> None:
    (pipeline / "wait before").touch()
    dvc = repro(pipeline)
    assert until((pipeline / "started").exists)
    dvc.kill()
    dvc.wait(10)
    (pipeline / "wait before").unlink()
    assert until(lambda: not alive(pipeline.parent)), alive(pipeline.parent)


def test_a_stage_typed_by_hand_outlives_its_shell(pipeline: Path) -> None:
    variables = {**environment(pipeline.parent), "PYTHONPATH": str(PROJECT)}
    subprocess.run(
        ["sh", "-c", "nohup python slow.py >/dev/null 2>&1 &"],
        cwd=pipeline,
        env=variables,
        check=True,
    )
    assert until((pipeline / "working").exists)
    (stage,) = [p for p in alive(pipeline.parent) if "slow.py" in p.cmdline()]
    assert not until(lambda: not stage.is_running(), seconds=2)
    stage.terminate()
    assert until(lambda: not alive(pipeline.parent))


PARENT = """
import subprocess, sys, time
from pipeline.base.processes import ending_with_this
subprocess.Popen(ending_with_this("http.server", "0"), start_new_session=True)
print("started", flush=True)
time.sleep(600)
"""


def test_a_module_of_somebody_else_ends_with_whoever_started_it(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        env=environment(tmp_path),
        cwd=PROJECT,
        stdout=subprocess.PIPE,
    )
    assert parent.stdout and parent.stdout.readline()
    assert until(lambda: len(alive(tmp_path)) == 2)
    parent.kill()
    parent.wait()
    assert until(lambda: not alive(tmp_path)), alive(tmp_path)


def test_a_module_started_by_the_dead_ends(tmp_path: Path) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    command = ending_with_this("http.server", "0")
    command[command.index(str(os.getpid()))] = str(dead.pid)
    child = subprocess.Popen(command, cwd=PROJECT, start_new_session=True, stderr=subprocess.PIPE)
    assert child.wait(30) != 0


def test_when_a_process_began_tells_it_from_another() -> None:
    child = subprocess.Popen(["sleep", "600"])
    first = began(child.pid)
    assert first is not None and first == began(child.pid) and began(os.getpid()) != first
    child.kill()
    assert until(lambda: began(child.pid) is None)  # dead already, though nobody has waited for it
    child.wait()
    assert began(child.pid) is None


def test_a_process_that_is_hidden_may_be_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    since = began(os.getpid())
    assert since is not None and lives(os.getpid(), since) and not lives(os.getpid(), since + 1)

    def hidden(path: Path, **_: str) -> str:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_text", hidden)
    assert lives(os.getpid(), since + 1)


@pytest.fixture
def training(reproduced: Path, tmp_path: Path) -> Iterator[Path]:
    """A checkout where all but the training of a cell is done, and that takes long."""
    checkout = tmp_path / "another folder"
    shutil.copytree(reproduced, checkout, symlinks=True)
    shutil.rmtree(checkout / "work", ignore_errors=True)  # of trainings that were interrupted
    with edited(checkout / "params.yaml") as content:
        content["cells"]["nano-hi"]["train"] = {"steps": 2000, "validate_every": 500}
    expand(checkout)
    yield checkout
    for process in alive(tmp_path):
        process.kill()


def _trains(checkout: Path) -> bool:
    return bool(list((checkout / "work").glob("*/state/step-*")))


@pytest.mark.chain
@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGKILL, -9),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.nightly),
        pytest.param(signal.SIGINT, 130, marks=pytest.mark.nightly),
        pytest.param(signal.SIGHUP, -1, marks=pytest.mark.nightly),
    ],
)
def test_nothing_outlives_tomrl_run(
    training: Path, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    with (tmp_path / "shown").open("w") as shown:
        run = subprocess.Popen(
            ["tomrl", "run"],
            cwd=training,
            env=environment(tmp_path),
            stdout=shown,
            stderr=subprocess.STDOUT,
        )
    assert until(lambda: _trains(training) or run.poll() is not None, 600)
    assert len(alive(tmp_path)) >= 4, (tmp_path / "shown").read_text()  # server, DVC, stage too
    run.send_signal(number)
    run.wait(60)
    said = (tmp_path / "shown").read_text()
    assert run.returncode == status, said
    assert "Traceback" not in said
    assert until(lambda: not alive(tmp_path)), alive(tmp_path)
    assert not list((training / "work").glob("*.lock"))


@pytest.mark.chain
def test_a_second_training_of_the_same_cell_is_told_of_the_first(
    training: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "pipeline.stages.train", "nano-hi"]
    first = subprocess.Popen(command, cwd=training, env=environment(tmp_path))
    assert until(lambda: _trains(training), 600)
    second = type_command(training, tmp_path, *command)
    assert second.returncode == 2
    (_, refused) = second.stderr.strip().splitlines()
    assert f"is in use by process {first.pid} on " in refused
    assert "pipeline.stages.train nano-hi" in refused and f"kill {first.pid}" in refused
    first.terminate()
    assert first.wait(60) == 130
    assert not list((training / "work").glob("*.lock"))


def test_a_stop_is_one_whatever_a_library_makes_of_it(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """As numpy does of one that arrives while it reads the form of a buffer."""
    stage = (
        "import os, signal, sys\n"
        "from pipeline.stages.common import run\n"
        "def body(stage):\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGTERM); signal.pause()\n"
        "    except BaseException as error:\n"
        "        raise ValueError('no valid buffer') from error\n"
        "sys.argv = ['expand']\n"
        "run('expand', body, lambda root, given: None)\n"
    )
    done = subprocess.run([sys.executable, "-c", stage], cwd=PROJECT, check=False)
    assert done.returncode == 130
    assert capfd.readouterr().err == "error: expand: stopped; run it again to go on\n"
