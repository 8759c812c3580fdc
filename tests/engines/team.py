"""A team's servers for tests: real PostgreSQL, MLflow and Prefect with a worker, moto's S3."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from pipeline.base.ports import free_ports
from tests.alive import until
from tests.conftest import PROJECT, copy_checkout, environment, shrink
from tests.team.server import answers
from tests.team.servers import Ports, Team

SECONDS = 900


@dataclass(frozen=True)
class Served:
    """The servers of a team that run."""

    team: Team
    process: subprocess.Popen[str]

    @property
    def client(self) -> dict[str, str]:
        """The variables that clients set."""
        return self.team.client_environment()

    def kill_database(self) -> bool:
        """Kill PostgreSQL as a machine without memory would; return False if it is not there."""
        try:
            first = (self.team.postgres.data / "postmaster.pid").read_text().splitlines()[0]
            os.kill(int(first), signal.SIGKILL)
        except (FileNotFoundError, IndexError, ProcessLookupError):
            return False
        return True

    def drop_connections(self) -> bool:
        """End every connection to the databases; return whether there was a PostgreSQL to do so."""
        others = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> "
        return self.team.postgres.query(f"{others} pg_backend_pid()")

    def await_answers(self) -> None:
        """Wait until MLflow and Prefect answer."""
        mlflow, prefect = (self.client[name] for name in ("MLFLOW_TRACKING_URI", "PREFECT_API_URL"))
        assert until(lambda: answers(f"{mlflow}/health"), SECONDS)
        assert until(lambda: answers(f"{prefect}/health"), SECONDS)

    def kill(self, name: str) -> bool:
        """Kill ``mlflow`` or ``prefect`` with all its processes; False if it is not there now."""
        for child in psutil.Process(self.process.pid).children():
            with suppress(psutil.NoSuchProcess, ProcessLookupError):
                if child.cmdline()[4:6] == [name, "server"]:
                    os.killpg(child.pid, signal.SIGKILL)
                    return True
        return False


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    """The servers of a team.

    Skips the test where there is no PostgreSQL and none can be installed.
    """
    if why := without_postgres():
        pytest.skip(f"no team servers: {why}")
    with serving() as found:
        yield found


def without_postgres() -> str:
    """Install PostgreSQL where it is missing; return why that cannot be done, or nothing."""
    installed = subprocess.run([PROJECT / "scripts/setup_postgres.sh"], capture_output=True)
    return installed.stderr.decode().strip() if installed.returncode else ""


@contextmanager
def serving() -> Iterator[Served]:
    """Run the servers, in a folder that PostgreSQL's user can reach, for a copy of the checkout.

    Its study `mini` is the tests' own, of seconds a stage.
    """
    folder = Path(tempfile.mkdtemp(prefix="tomrl-team-"))
    folder.chmod(0o755)
    ports, checkout = Ports(*free_ports(4)), copy_checkout(folder / "checkout")
    shrink(checkout)
    words = [w for name, port in ports._asdict().items() for w in (f"--{name}-port", str(port))]
    with (folder / "said").open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.team", str(folder), *words],
            cwd=checkout,
            env=environment(folder),
            stdout=said,
            stderr=subprocess.STDOUT,
            text=True,
        )
    served = Served(Team(folder, ports, checkout), process)
    try:
        begun = served.team.client_file.exists
        assert until(lambda: begun() or process.poll() is not None, SECONDS) and begun(), (
            folder / "said"
        ).read_text()
        yield served
    finally:
        process.terminate()
        process.wait(120)
        shutil.rmtree(folder)
