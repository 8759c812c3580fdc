"""Kills a stage just before each of its file operations, and runs it again.

``python -m tests.chaos.operations`` goes through every operation of every stage. A stage runs in a
fork of this process, which has imported everything: what is killed is the real stage, without the
seconds that its imports take.
"""

from __future__ import annotations

import argparse
import importlib
import os
import runpy
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from pipeline.ops.driver.checkout import ask_dvc
from tests.chaos.study import Outcome, leftovers, prepare

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate"}
_COME_AGAIN = 0.8  # of the operations of one run, at least, in the next
_MADE = (
    "code",
    "params",
    "data",
    "runs",
    "reports",
    "logs",
    "weights",
    "work",
    "mlflow.db",
    "mlartifacts",
)


@dataclass
class Watch:
    """An audit hook that counts the operations on a checkout and kills before a given one.

    Attributes:
        checkout: The folder that is watched.
        kill_before: Number of the operation; none is killed without it.
        seen: The operations so far.
    """

    checkout: str
    kill_before: int | None = None
    seen: list[str] = field(default_factory=list)

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        path = _changed(event, arguments)
        if path is None or "__pycache__" in path:
            return
        path = str(Path(path).absolute())
        if not path.startswith(self.checkout):
            return
        if len(self.seen) == self.kill_before:
            os.kill(os.getpid(), signal.SIGKILL)
        self.seen.append(f"{event} {path.removeprefix(self.checkout)}")


def _changed(event: str, arguments: tuple[object, ...]) -> str | None:
    """The path that an operation changes, or None where it changes none."""
    if event == "open":
        path, _, flags = arguments
        changes = isinstance(flags, int) and bool(flags & _WRITING)
    else:
        path, changes = arguments[0] if arguments else None, event in _CHANGES
    return os.fsdecode(path) if changes and isinstance(path, str | bytes | os.PathLike) else None


@dataclass(frozen=True)
class Ran:
    """How a stage ended.

    Attributes:
        status: Its exit status; negative the number of the signal that killed it.
        said: What it printed.
        operations: Its operations, if it ended well.
    """

    status: int
    said: str
    operations: Sequence[str]


def run_stage(
    checkout: Path,
    stage: str,
    logs: Path,
    kill_before: int | None = None,
    handicap: Callable[[], None] = lambda: None,
) -> Ran:
    """Run a stage in a fork.

    Args:
        checkout: Where it runs.
        stage: Its name, as DVC has it.
        logs: Receives what it prints.
        kill_before: Number of the operation that it is killed before.
        handicap: Called in the fork first, such as to limit what it may do.
    """
    logs.mkdir(parents=True, exist_ok=True)
    said, seen = logs / "said.txt", logs / "operations.txt"
    for path in (said, seen):
        path.write_text("")
    child = os.fork()
    if not child:
        _be_stage(checkout, stage, kill_before, handicap, said, seen)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return Ran(code, said.read_text(errors="replace"), seen.read_text().splitlines())


def _be_stage(
    checkout: Path,
    stage: str,
    kill_before: int | None,
    handicap: Callable[[], None],
    said: Path,
    seen: Path,
) -> None:
    """Become the stage in a fork; never returns."""
    status = 1
    try:
        output = os.open(said, os.O_WRONLY | os.O_APPEND)
        for stream in (1, 2):
            os.dup2(output, stream)
        report = os.open(seen, os.O_WRONLY)
        os.chdir(checkout)
        name, *key = stage.split("@")
        module, sys.argv = f"pipeline.stages.{name}", [name, *key]
        watch = Watch(f"{Path.cwd()}/", kill_before)
        sys.addaudithook(watch)
        handicap()
        sys.modules.pop(module, None)
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        os.write(report, "\n".join(watch.seen).encode())
        status = 0
    except SystemExit as error:
        status = int(error.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


@dataclass(frozen=True)
class Chain:
    """The stages of a study, and the checkout as each of them finds it.

    Attributes:
        folder: Holds ``STAGE/before`` and the trial that is under way.
        stages: The stages in their order.
    """

    folder: Path
    stages: Sequence[str]

    @classmethod
    def build(cls, folder: Path) -> Chain:
        """Run a study once, keeping the checkout before each stage, unless the folder has them."""
        checkout = folder / "whole" / "a checkout"
        if (folder / "end").exists():
            return cls(folder, ask_dvc(checkout, "stage", "list", "--name-only").split())
        prepare(checkout)
        chain = cls(folder, ask_dvc(checkout, "stage", "list", "--name-only").split())
        for stage in chain.stages:
            copy_checkout(checkout, chain.before(stage))
            ran = run_stage(checkout, stage, folder / "logs")
            assert ran.status == 0, ran.said
            chain.operations_file(stage).write_text("\n".join(ran.operations))
        copy_checkout(checkout, chain.before("end"))
        return chain

    def before(self, stage: str) -> Path:
        """The checkout as a stage finds it."""
        return self.folder / stage / "before"

    def operations_file(self, stage: str) -> Path:
        """The file that lists the operations of a stage."""
        return self.folder / stage / "operations.txt"

    def moments(self) -> list[tuple[str, int]]:
        """Every operation of every stage."""
        return [
            (stage, number)
            for stage in self.stages
            for number in range(len(self.operations_file(stage).read_text().splitlines()))
        ]

    def after(self, stage: str) -> Path:
        """The checkout as a stage leaves it."""
        following = [*self.stages, "end"][self.stages.index(stage) + 1]
        return self.before(following)

    def kill(self, stage: str, number: int) -> bool:
        """Kill a stage before one of its operations; return whether it came to that one.

        MLflow writes beside the stage, so that a run may have an operation less than another.
        """
        shutil.rmtree(self.trial.parent, ignore_errors=True)
        copy_checkout(self.before(stage), self.trial)
        killed = run_stage(self.trial, stage, self.folder / "logs", kill_before=number)
        assert killed.status in (0, -signal.SIGKILL), killed.said
        return killed.status != 0

    @property
    def trial(self) -> Path:
        """The checkout in which stages are killed."""
        return self.folder / "trial" / "a checkout"

    def faults(self, stage: str) -> Iterator[str]:
        """Run a stage that was killed again, and yield what is wrong."""
        trial = self.trial
        again = run_stage(trial, stage, self.folder / "logs")
        if again.status != 0:
            yield f"it failed afterwards: {again.said[-500:]}"
            return
        differences = Outcome.of(self.after(stage)).differences(Outcome.of(trial))
        yield from (f"{kind}: {names}" for kind, names in differences.items() if names)
        yield from (f"left over: {name}" for name in leftovers(trial))


def copy_checkout(checkout: Path, target: Path) -> Path:
    """Copy what a stage reads: parameters, code to be digested, and all that was made."""
    target.mkdir(parents=True)
    for name in ("params.yaml", "dvc.yaml", "pyproject.toml", "pipeline", *_MADE):
        source = checkout / name
        if source.is_dir():
            shutil.copytree(source, target / name, symlinks=True)
        elif source.is_file():
            shutil.copy2(source, target / name)
    return target


@contextmanager
def chain_in(folder: Path | None) -> Iterator[Chain]:
    """Give the chain of a folder, which is kept, or of one that is not."""
    load_everything()
    if folder:
        yield Chain.build(folder)
    else:
        with tempfile.TemporaryDirectory(prefix="chaos-") as temporary:
            yield Chain.build(Path(temporary))


def load_everything() -> None:
    """Import what stages import, so that forks need not."""
    for name in ("mlflow", "torch", "transformers", "pipeline.stages.base_tiny"):
        importlib.import_module(name)
    for name in ("acquire", "sources", "dataset", "suite", "audit", "base", "code", "expand"):
        importlib.import_module(f"pipeline.stages.{name}")
    for name in ("train", "train_local", "evaluate", "judge", "report"):
        importlib.import_module(f"pipeline.stages.{name}")


def main() -> None:
    """Print the figures of all kills, or of a sample; exit 1 if there was a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.operations", description=__doc__)
    parser.add_argument("--sample", type=int, help="so many kills only, drawn")
    parser.add_argument("--chain", type=Path, help="folder with the study, made if it is missing")
    options = parser.parse_args()
    with chain_in(options.chain) as chain:
        moments = chain.moments()
        enough = options.sample or len(moments)
        kills = bad = 0
        for stage, number in Random(0).sample(moments, len(moments)):
            if kills == enough:
                break
            if not chain.kill(stage, number):
                continue
            kills += 1
            found = list(chain.faults(stage))
            bad += bool(found)
            for fault in found:
                operation = chain.operations_file(stage).read_text().splitlines()[number]
                print(f"{stage} before {operation}: {fault}", flush=True)
        print(f"{kills} kills just before a file operation: {bad} with a fault")
    sys.exit(bool(bad) or kills < (options.sample or _COME_AGAIN * len(moments)))


if __name__ == "__main__":
    main()
