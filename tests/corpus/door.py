"""The door that a user takes, in a process of its own that starts within milliseconds.

A server imports the heavy libraries once and forks a process for every input, so that none can
leave a working directory, a variable, a signal handler or a thread to the next.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.base.plugins import BENCHMARKS

# What the commands import, sooner or later; nothing of it starts a thread.
HEAVY = (
    *("pytest", "mlflow.store.tracking.sqlalchemy_store", "openpyxl"),
    "transformers.models.qwen2.modeling_qwen2",
    *("pipeline.cli.app", "pipeline.stages.train_local", "pipeline.evaluate.hf_engine"),
    *(
        "pipeline.analysis.report",
        "pipeline.audit.figures",
        "pipeline.data.named_tasks",
        *BENCHMARKS,
    ),
)
DEADLINE = 60.0  # seconds


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it printed."""

    status: int | None
    stdout: str
    stderr: str


def take(
    command: tuple[str, ...], folder: Path, environment: Mapping[str, str], prints: Path
) -> Ended:
    """Run ``tomrl`` or a stage in a folder; its status is None if it does not end."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(HEAVY))
    child = context.Process(target=_act, args=(command, folder, dict(environment), prints))
    child.start()
    child.join(DEADLINE)
    if child.is_alive():
        child.kill()
        child.join()
        return Ended(None, *_printed(prints))
    return Ended(child.exitcode, *_printed(prints))


def _printed(prints: Path) -> tuple[str, str]:
    texts = [prints.with_suffix(end).read_text(errors="replace") for end in (".out", ".err")]
    return texts[0], texts[1]


def _act(command: tuple[str, ...], folder: Path, environment: dict[str, str], prints: Path) -> None:
    for number, end in ((1, ".out"), (2, ".err")):
        file = os.open(prints.with_suffix(end), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    program, *arguments = command
    module = "pipeline.cli.app" if program == "tomrl" else f"pipeline.stages.{program}"
    sys.argv = [program, *arguments]
    warnings.filterwarnings("ignore", module="runpy")
    runpy.run_module(module, run_name="__main__", alter_sys=True)
