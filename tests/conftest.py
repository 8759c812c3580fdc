"""Shared fixtures: a scratch checkout of the project, and the command line a user types."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import yaml

from pipeline.base.locks import locked
from pipeline.ops.driver.checkout import use_study
from pipeline.ops.mirror.database import ensure
from pipeline.ops.mirror.server import EXPERIMENT

PROJECT = Path(__file__).resolve().parent.parent
TINY = PROJECT / "tests" / "tiny"
"""A folder of studies like a checkout's, of a shape that no shipped study changes."""
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_configure() -> None:
    """Hear Ctrl-C, and have programs that tests start hear it, in a shell's background job too.

    No property fails because a machine is busy.
    """
    hypothesis.settings.register_profile("patient", deadline=None)
    hypothesis.settings.load_profile("patient")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each file's tests to one process, the files that take minutes before others.

    Of those that need the reproduced checkout one is early, which makes it; the others come when it
    is there.

    Those of ``tests/cluster`` go to one process together, before all: they share a Ray head. So do
    those that train with verl: two of its jobs at once take more memory than a laptop has.

    First, since pytest-xdist reads the groups in a hook of the same name.
    """
    shares = {item.path for item in items if item.path.parent.name == "cluster"}
    long = {item.path for item in items if item.get_closest_marker("chain")}
    for item in items:
        trains = item.path.parent.name == "engines" and item.path in long
        group = "cluster" if item.path in shares else "verl" if trains else item.path.name
        item.add_marker(pytest.mark.xdist_group(group))
    wait = Counter(item.path for item in items if "reproduced" in getattr(item, "fixturenames", ()))
    makes = next((path for path, _ in wait.most_common() if path not in shares), None)
    items.sort(
        key=lambda item: (
            item.path not in shares,
            item.path != makes,
            item.path not in long,
            item.path in wait,
        )
    )


@pytest.fixture(autouse=True)
def environment_stays() -> Iterator[None]:
    """Put the environment back: commands run in this process, and some set variables for good."""
    before = dict(os.environ)
    yield
    if os.environ != before:
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(scope="session")
def project() -> Path:
    """The checkout under test."""
    return PROJECT


def copy_checkout(target: Path) -> Path:
    """Copy what git tracks, or would track, and make it a repository of its own."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        check=True,
    ).stdout
    for name in names.decode().split("\0"):
        source = PROJECT / name
        if name and source.is_file():
            destination = target / name
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, destination)
    subprocess.run(["git", "init", "-q"], cwd=target, check=True)
    return target


def commit(checkout: Path) -> None:
    """Commit all that is there; the first time, make the repository."""
    subprocess.run(["git", "init", "-q"], cwd=checkout, check=True)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "add", "--all"], cwd=checkout, check=True)
    subprocess.run([*git, "commit", "-qm", "a study"], cwd=checkout, check=True)


@cache
def _prefect_database() -> Path:
    """A database with the tables of this Prefect, which takes ten seconds: made once, and kept."""
    folder = Path(tempfile.gettempdir(), f"tomrl-tests-{os.getuid()}")
    made = folder / f"prefect-{version('prefect')}.db"
    with locked(made.with_suffix(".lock")):
        if not made.exists():
            with tempfile.TemporaryDirectory(dir=folder) as home:
                subprocess.run(
                    [sys.executable, *("-m", "prefect", "server", "database", "upgrade", "-y")],
                    env={**os.environ, "PREFECT_HOME": home},
                    check=True,
                    capture_output=True,
                )
                whole = Path(home, "whole.db")
                with closing(sqlite3.connect(Path(home, "prefect.db"))) as database:
                    database.execute("vacuum into ?", (str(whole),))
                whole.replace(made)
    return made


def prefect_home(home: Path) -> Path:
    """A folder of Prefect whose database has its tables."""
    folder = home / "prefect"
    if not folder.exists():
        folder.mkdir(parents=True)
        shutil.copy(_prefect_database(), folder / "prefect.db")
    return folder


def environment(home: Path) -> dict[str, str]:
    """The environment of a user with this virtual environment activated."""
    bin_folder = Path(sys.executable).parent
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TOMRL_", "MLFLOW_"))}
    return {
        **kept,
        "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        "PREFECT_HOME": str(prefect_home(home)),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "HF_HUB_OFFLINE": "1",
        "COLUMNS": "200",
    }


def type_command(
    folder: Path, home: Path, *command: str, **extra: str
) -> subprocess.CompletedProcess[str]:
    """Run a command as a user would, and return what it printed."""
    return subprocess.run(
        command,
        cwd=folder,
        env={**environment(home), **extra},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def ended_well(checkout: Path, *command: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run a command that must end well in a checkout; its user is at home in the folder above."""
    done = type_command(checkout, checkout.parent, *command, **extra)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done


def expand(checkout: Path) -> None:
    """Have the stages see what ``params.yaml`` says."""
    ended_well(checkout, "python", "-m", "pipeline.stages.expand")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A scratch checkout in a path with spaces."""
    return copy_checkout(tmp_path / "a folder with spaces")


@pytest.fixture
def typed(checkout: Path, tmp_path: Path) -> Run:
    """Type a command in the scratch checkout."""

    def run(*command: str, **extra: str) -> subprocess.CompletedProcess[str]:
        return type_command(checkout, tmp_path, *command, **extra)

    return run


@pytest.fixture(scope="session")
def mirror() -> Iterator[Path]:
    """The folder of real upstream data; tests that need it are skipped, visibly, without it."""
    folder = os.environ.get("TOMRL_DATA_MIRROR")
    if not folder or not Path(folder).is_dir():
        pytest.skip("TOMRL_DATA_MIRROR is not set to a folder of upstream data")
    yield Path(folder).resolve()


@pytest.fixture(scope="session")
def tracking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole database of MLflow, which takes seconds to make; tests copy it."""
    database = tmp_path_factory.mktemp("tracking") / "mlflow.db"
    ensure(database, EXPERIMENT, database.with_name("mlartifacts").as_uri())
    return database


@contextmanager
def edited(path: Path) -> Iterator[Any]:
    """Give the content of a YAML file to be changed in place, and write it back."""
    content = yaml.safe_load(path.read_text())
    yield content
    path.write_text(yaml.safe_dump(content, sort_keys=False))


def shrink(checkout: Path, **train: object) -> None:
    """Make studies/mini.yaml the tests' own, so small that the chain takes seconds per stage."""
    (checkout / "studies").mkdir(parents=True, exist_ok=True)
    shutil.copy(TINY / "studies" / "mini.yaml", checkout / "studies" / "mini.yaml")
    with edited(checkout / "studies" / "mini.yaml") as study:
        study["acquire"]["hi_tom_style"] |= {"train": 30, "validation": 5, "test": 5}
        study["acquire"]["arithmetic"]["test"] = 5
        models = study["base"]["models"]
        study["base"]["models"] = {"nano": models["nano"]}
        models["nano"]["warm_start"] |= {"steps": 6, "batch": 8, "stories": 200}
        models["nano"]["warm_start"]["target_accuracy"] = None
        study["grid"]["models"] = ["nano"]
        study["grid"]["combinations"] = study["grid"]["combinations"][:1]
        study["train"] |= {
            "steps": 4,
            "prompts_per_step": 2,
            "rollouts": 2,
            "max_new_tokens": 8,
            "validate_every": 2,
            "save_every": 1,
            "allow_no_answers": True,  # six steps of warm start teach nobody to answer
            **train,
        }
        study["evaluate"]["max_new_tokens"] = 8
        study["suite"]["side_checks"]["arithmetic"]["max_new_tokens"] = 8


def prepare(folder: Path) -> Path:
    """Make a checkout whose default study takes seconds per stage."""
    checkout = copy_checkout(folder)
    shrink(checkout)
    use_study(checkout, "mini")
    return checkout


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A checkout that takes a minute to make: all processes of pytest-xdist share the first's."""
    base = factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    checkout, done = shared / "a folder with spaces", shared / "done"
    with locked(shared.with_suffix(".lock")):
        if not done.exists():
            shutil.rmtree(shared, ignore_errors=True)
            make(checkout)
            done.touch()
    return checkout


_REPRODUCE = """
import sys
from pathlib import Path
from flows.driver.commands import Commands
with Commands() as commands:
    commands.fork_stages(Path.cwd())
    sys.exit(commands.dvc(["repro"], print, Path.cwd()))
"""


@pytest.fixture(scope="session")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout in a path with spaces on which ``dvc repro`` has run; tests copy it.

    Its stages are forked, as those of ``tomrl run`` are, which takes half as long.
    """

    def make(folder: Path) -> None:
        checkout = prepare(folder)
        ended_well(checkout, sys.executable, "-c", _REPRODUCE)

    return made_once(tmp_path_factory, "reproduced", make)
