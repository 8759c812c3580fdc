"""What every stage shares: where things lie, how it starts, and how it fails."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path

from pipeline.base.disk import trouble
from pipeline.base.errors import TransientError, UserError
from pipeline.base.ports import keep_loopback_direct
from pipeline.base.processes import end_with_dvc, raise_on_sigterm, was_stopped
from pipeline.config.params import Cell, Params, before
from pipeline.formats.files import digest_of, file_digest, folder_digests
from pipeline.formats.foreign import visible
from pipeline.formats.leftovers import remove_leftovers_of
from pipeline.formats.weights import WeightsFolder
from pipeline.stages.expanded import Reader, shared

DEMONSTRATIONS = "demonstrations.parquet"
"""The file of the suite with questions whose answers prompt programs may know."""


@dataclass(frozen=True)
class Stage:
    """One stage instance: its parameters and the folders it may read and write."""

    name: str
    root: Path
    params: Params

    @property
    def study(self) -> str:
        return self.params.study.name

    @property
    def raw(self) -> Path:
        return self.data / "raw"

    @property
    def data(self) -> Path:
        return self.root / "data" / self.study

    @property
    def runs(self) -> Path:
        return self.root / "runs" / self.study

    @property
    def logs(self) -> Path:
        return self.root / "logs" / self.study

    def weights_of(self, key: str) -> WeightsFolder:
        return WeightsFolder(self._weights / key, f"train@{key}")

    def weights_of_base(self, key: str) -> WeightsFolder:
        return WeightsFolder(self._weights / "base" / key, f"base@{key}")

    def start_of(self, cell: Cell) -> WeightsFolder:
        """The folder of the models that a cell starts from."""
        first = before(cell)
        return self.weights_of_base(cell.model) if first is None else self.weights_of(first)

    @property
    def _weights(self) -> Path:
        return self.root / "weights" / self.study

    def work(self, *inputs: object) -> Path:
        """The folder of resumable state for these inputs: other inputs, another folder."""
        return self.root / "work" / digest_of([self.name, *inputs])[:20]

    def of(self, key: str) -> CellStage:
        """The stage of one cell."""
        return CellStage(self, key)


@dataclass(frozen=True)
class CellStage:
    """The stage of one cell, and the folders that it writes.

    Attributes:
        stage: The stage.
        key: Key of the cell.
    """

    stage: Stage
    key: str

    @property
    def cell(self) -> Cell:
        return self.stage.params.cell(self.key)

    @property
    def title(self) -> str:
        return f"{self.stage.name} {self.key}"

    @property
    def results(self) -> Path:
        return self.stage.runs / self.key / self.stage.name

    @property
    def logs(self) -> Path:
        return self.stage.logs / self.key / self.stage.name

    @property
    def checkpoints(self) -> Path:
        return self.stage.runs / self.key / "train" / "checkpoints.json"

    @property
    def weights(self) -> WeightsFolder:
        return self.stage.weights_of(self.key)


def run(name: str, body: Callable[..., None], params: Reader = shared) -> None:
    """Run a stage from the command line: ``python -m pipeline.stages.NAME [KEY]``.

    Exits 2 with one clear message on bad input, which running it again cannot fix; 1 on what may
    go well another time, and when it cannot write; 130 when stopped. It stops by itself when the
    DVC that runs it is gone.
    """
    raise_on_sigterm()
    end_with_dvc()
    keep_loopback_direct(os.environ)
    try:
        _check_arguments(name, body, sys.argv[1:])
        stage = Stage(name, Path.cwd(), params(Path.cwd(), sys.argv[1:]))
        remove_leftovers_of(stage.root)
        body(stage, *sys.argv[1:])
    except UserError as error:
        _fail(f"{name}: {error}", 1 if isinstance(error, TransientError) else 2)
    except (KeyboardInterrupt, Exception) as error:
        if was_stopped(error):
            _fail(f"{name}: stopped; run it again to go on", 130)
        if (why := trouble(error)) is None:
            raise
        _fail(f"{name}: {why}", 1)


def _check_arguments(name: str, body: Callable[..., None], given: Sequence[str]) -> None:
    """Refuse arguments that a stage does not take; ``KEY`` names one of its entries."""
    try:
        signature(body).bind(None, *given)
    except TypeError:
        needed = " KEY, an entry of params.yaml" if "key" in signature(body).parameters else ""
        raise UserError(
            f"found the arguments {' '.join(map(repr, given)) or 'none'}; usage: "
            f"python -m pipeline.stages.{name}{needed}"
        ) from None


def _fail(message: str, status: int) -> None:
    print(f"error: {visible(message)}", file=sys.stderr, flush=True)
    sys.stdout.flush()
    os._exit(status) if status == 130 else sys.exit(status)


def input_digest(path: Path) -> str:
    """A digest of a file or folder that a stage depends on.

    Raises:
        UserError: If it does not exist.
    """
    if path.is_file():
        return file_digest(path)
    if path.is_dir():
        return digest_of(folder_digests(path))
    raise UserError(f"{path} does not exist; make it with: dvc repro")
