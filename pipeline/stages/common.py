"""What every stage shares: where things lie, how it starts, and how it fails."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from pipeline.config.params import Params
from pipeline.config.params_file import read_params
from pipeline.errors import UserError
from pipeline.files import NO_SPACE, digest_of, file_digest, folder_digests
from pipeline.store import LocalStore, default_store


@dataclass(frozen=True)
class Stage:
    """One stage instance: its parameters and the folders it may read and write."""

    name: str
    root: Path
    params: Params

    @property
    def study(self) -> str:
        """Return the name of the study."""
        return self.params.study.name

    @property
    def raw(self) -> Path:
        """Return the folder of the study's acquired sources."""
        return self.data / "raw"

    @property
    def data(self) -> Path:
        """Return the folder of the study's datasets."""
        return self.root / "data" / self.study

    @property
    def runs(self) -> Path:
        """Return the folder of the study's deterministic results."""
        return self.root / "runs" / self.study

    @property
    def logs(self) -> Path:
        """Return the folder of what differs from run to run."""
        return self.root / "logs" / self.study

    @property
    def store(self) -> LocalStore:
        """Return the artifact store."""
        return default_store(self.root)

    def work(self, *inputs: object) -> Path:
        """Return the folder of resumable state for these inputs: other inputs, another folder."""
        return self.root / "work" / digest_of([self.name, *inputs])[:20]


def run(name: str, body: Callable[..., None]) -> None:
    """Run a stage from the command line: ``python -m pipeline.stages.NAME [KEY]``.

    Exits 2 with one clear message on bad input, 1 when the disk is full, 130 or 143 when stopped.
    """
    signal.signal(signal.SIGTERM, _terminate)
    try:
        body(Stage(name, Path.cwd(), read_params()), *sys.argv[1:])
    except UserError as error:
        _fail(f"{name}: {error}", 2)
    except KeyboardInterrupt:
        _fail(f"{name}: stopped; run it again to go on", 130)
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise
        _fail(
            f"{name}: no room to write {error.filename or 'its output'} ({error.strerror}); "
            "nothing half-written was left. Free some disk space and run it again",
            1,
        )


def _terminate(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _fail(message: str, status: int) -> None:
    print(f"error: {message}", file=sys.stderr, flush=True)
    sys.stdout.flush()
    os._exit(status) if status == 130 else sys.exit(status)


def use_threads(count: int) -> None:
    """Fix the thread count and demand deterministic kernels: both are part of the result."""
    import torch

    torch.set_num_threads(count)
    torch.use_deterministic_algorithms(True, warn_only=True)


def input_digest(path: Path) -> str:
    """Return a digest of a file or folder that a stage depends on.

    Raises:
        UserError: If it does not exist.
    """
    if path.is_file():
        return file_digest(path)
    if path.is_dir():
        return digest_of(folder_digests(path))
    raise UserError(f"{path} does not exist; make it with: dvc repro")
