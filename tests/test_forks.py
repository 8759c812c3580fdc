"""Commands of DVC that are forked: they do, end and fail as those that are started do."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from flows.driver.causes import cause
from flows.driver.commands import Commands
from pipeline.ops.driver.checkout import use_study
from tests.alive import until
from tests.conftest import PROJECT, copy_checkout, type_command

REPRO = ["repro", "--single-item", "code"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    checkout = copy_checkout(tmp_path / "a folder with spaces")
    use_study(checkout, "mini")
    return checkout


@pytest.fixture
def commands(tree: Path) -> Iterator[Commands]:
    with Commands() as commands:
        commands.fork_stages(tree)
        yield commands


SERVER = "pipeline.ops.driver.forks"


def named(word: str) -> list[psutil.Process]:
    """This process's server and its living forks, if their title holds a word."""
    with suppress(psutil.Error):  # one that ended meanwhile
        servers = [p for p in psutil.Process().children() if SERVER in p.cmdline()]
        ours = [*servers, *(fork for server in servers for fork in server.children(recursive=True))]
        alive = [p for p in ours if p.status() != psutil.STATUS_ZOMBIE]
        return [p for p in alive if word in " ".join(p.cmdline())]
    return []


class Running(threading.Thread):
    """A command of DVC in a thread: its lines, and its exit status in the end."""

    def __init__(self, commands: Commands, tree: Path) -> None:
        super().__init__()
        self._run = lambda: commands.dvc(REPRO, self.lines.append, tree)
        self.lines: list[str] = []
        self.status: int | None = None
        self.start()

    def run(self) -> None:
        self.status = self._run()


def made(tree: Path) -> tuple[bytes, list[str]]:
    return (tree / "dvc.lock").read_bytes(), sorted(path.name for path in tree.glob("code/*"))


def test_forks_do_fail_and_end_as_what_is_started(commands: Commands, tree: Path) -> None:
    forked = Running(commands, tree)
    forked.join()
    assert forked.status == 0, forked.lines
    by_forks = made(tree)
    again = type_command(tree, tree.parent, "dvc", "repro", "--force", "--single-item", "code")
    assert again.returncode == 0 and by_forks == made(tree)
    assert set(again.stdout.splitlines()) <= {*forked.lines, ""}

    source = tree / "pipeline/stages/sources.py"
    whole = source.read_text()
    source.write_text("def (")
    broken = Running(commands, tree)
    broken.join()
    assert broken.status and "SyntaxError: invalid syntax" in "\n".join(broken.lines)

    waits = tree.parent / "waits"
    waiting = f"import pathlib, time\npathlib.Path({str(waits)!r}).touch()\ntime.sleep(60)\n"
    source.write_text(whole)
    stage = tree / "pipeline/stages/code.py"
    first = "import annotations\n"
    stage.write_text(stage.read_text().replace(first, first + waiting))

    killed = Running(commands, tree)
    assert until(waits.exists)
    named("pipeline.stages.code")[0].kill()
    killed.join()
    assert killed.status and cause(killed.lines).text.startswith("killed by SIGKILL")

    waits.unlink()
    stopped = Running(commands, tree)
    assert until(waits.exists)
    commands.stop()
    stopped.join()
    assert stopped.status and "exited with 130" in "\n".join(stopped.lines)
    assert not named("pipeline.stages") and not named("dvc repro")


def test_without_its_server_a_command_ends_and_the_next_is_started(
    commands: Commands, tree: Path
) -> None:
    running = Running(commands, tree)
    assert until(lambda: bool(named("pipeline.stages.code")))
    named(SERVER)[0].kill()
    running.join(30)
    assert running.status and not named("dvc repro")
    after = Running(commands, tree)
    after.join()
    assert after.status == 0, after.lines


UNTOUCHED = """
import importlib, torch
from pipeline.ops.driver.forks import IMPORTED

def touched(*_):
    raise AssertionError("an import asked for accelerators, which no fork can use then")

for name in ("is_available", "device_count", "_lazy_init"):
    setattr(torch.cuda, name, touched)
for name in IMPORTED:
    importlib.import_module(name)
"""


def test_what_the_server_imports_leaves_accelerators_to_forks() -> None:
    subprocess.run([sys.executable, "-c", UNTOUCHED], cwd=PROJECT, check=True)
