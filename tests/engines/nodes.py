"""Ray clusters of several nodes on one machine: raylets of their own, each with its own address.

The nodes share the machine's processors, memory and disk; what they do not share is what Ray keeps
for a node: its accelerators by name, its object store, its workers, and its end. As they also share
the folder of uploaded jobs, one may tidy away what another is about to use: the first attempt of a
job fails then, and the next goes on.
"""

from __future__ import annotations

import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from pipeline.base.ports import free_ports
from pipeline.ops.cluster.client import Address
from pipeline.ops.cluster.head import engine_environment
from pipeline.ops.verl.spec import HELPER_CPUS, RANK_CPUS
from tests.alive import until
from tests.engines.conftest import kill
from tests.raylets import FLAGS, alive, named, python_without_blanks, without_ray

HEAD, FIRST, SECOND, THIRD = (f"127.0.0.{n}" for n in (2, 3, 4, 5))


class Nodes:
    """A cluster whose head has no accelerator.

    Args:
        python: Interpreter of the engine environment.
        cpus: Processors of every node for what takes no accelerator.
    """

    def __init__(self, python: Path, cpus: int = HELPER_CPUS) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tomrl-nodes-", dir="/tmp"))
        self.port, self.dashboard, self.client = free_ports(3)
        token = secrets.token_hex(16)
        self.address = Address(f"http://127.0.0.1:{self.dashboard}", token, "RAY_ADDRESS")
        self._python = python_without_blanks(python, self.folder)
        self._environment = {
            **engine_environment(self._python, without_ray()),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": token,
        }
        self._cpus = cpus
        self._nodes: dict[str, subprocess.Popen[bytes]] = {}
        self.start_head()

    @classmethod
    @contextmanager
    def two(cls, python: Path, gpus: int = 1) -> Iterator[Nodes]:
        """Run a head, and two nodes with some accelerators each."""
        cluster = cls(python)
        try:
            cluster.add(FIRST, gpus)
            cluster.add(SECOND, gpus)
            yield cluster
        finally:
            cluster.end()

    @property
    def variables(self) -> dict[str, str]:
        """What a user of the cluster has in the environment."""
        return named(self.address)

    def start_head(self) -> None:
        """Start the head, at the same ports each time."""
        self._start(
            HEAD,
            "--head",
            f"--port={self.port}",
            "--dashboard-host=127.0.0.1",
            f"--dashboard-port={self.dashboard}",
            f"--ray-client-server-port={self.client}",
            f"--temp-dir={self.folder / 'ray'}",
            f"--num-cpus={self._cpus}",
            "--num-gpus=0",
        )

    def add(self, address: str, gpus: int = 1) -> None:
        """Add a node with some accelerators."""
        # verl's helpers go to any node, and must leave the ranks theirs.
        cpus = self._cpus + RANK_CPUS * gpus
        head = f"--address={HEAD}:{self.port}"
        self._start(address, head, f"--num-cpus={cpus}", f"--num-gpus={gpus}")

    def kill(self, address: str) -> None:
        """Let a node go at once, with all its workers."""
        process = psutil.Process(self._nodes[address].pid)
        kill([process, *process.children(recursive=True)])
        self._nodes.pop(address).wait()

    def under(self, pid: int) -> str:
        """The address of the node that a process belongs to."""
        ancestors = {process.pid for process in psutil.Process(pid).parents()}
        return next(address for address, node in self._nodes.items() if node.pid in ancestors)

    @contextmanager
    def paused(self, address: str) -> Iterator[None]:
        """Stop a node and its workers for a while."""
        processes = psutil.Process(self._nodes[address].pid).children(recursive=True)
        try:
            for process in processes:
                with suppress(psutil.NoSuchProcess):
                    process.suspend()
            yield
        finally:
            for process in processes:
                with suppress(psutil.NoSuchProcess):
                    process.resume()

    def end(self) -> None:
        """Leave nothing of the cluster."""
        for address in list(self._nodes):
            self.kill(address)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, address: str, *flags: str) -> None:
        command = [
            *(str(self._python), "-m", "ray.scripts.scripts", "start", "--block"),
            f"--node-ip-address={address}",
            *FLAGS,
            *flags,
        ]
        log = self.folder / f"{address}.log"
        with log.open("a") as output:
            self._nodes[address] = subprocess.Popen(
                command,
                env={**self._environment, "TMPDIR": str(self.folder)},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        assert until(lambda: address in alive(self.address), 120), log.read_text()
