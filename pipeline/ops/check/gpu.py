"""``tomrl doctor --gpu``: what a GPU run needs of this machine, or of the cluster's nodes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipeline.base.errors import TransientError, UserError
from pipeline.ops.check import gpu_look
from pipeline.ops.check.doctor import Finding
from pipeline.ops.cluster.job import address_variable

OLDEST_DRIVER = 580
"""CUDA 13's, with which the pinned torch is built."""
_SECONDS = 300.0
_TRAINER = "run `make setup-trainer`, or set TOMRL_ENGINE_PYTHON to a Python with verl and vLLM"
_REPAIRS = {
    "driver": f"install NVIDIA's driver {OLDEST_DRIVER} or newer: CUDA 13 needs it",
    "torch": _TRAINER,
    "vllm": _TRAINER,
    "verl": _TRAINER,
    "compiler": "install g++ (and ninja): kernels are compiled on first use",
    "Python.h": "install Python's headers (python3-dev): Triton compiles with them",
    "shared folder": "mount it on every node under the same path, with hard links",
}

Nodes = dict[str, dict[str, str]]


def diagnose(root: Path) -> list[Finding]:
    """Everything that a GPU run needs, each with its repair.

    The cluster of ``RAY_ADDRESS`` is asked where that is set, else this machine.
    """
    return list(_cluster(root) if address_variable(os.environ) else _machine(root))


def _machine(root: Path) -> Iterator[Finding]:
    named = os.environ.get("TOMRL_ENGINE_PYTHON")
    python = named or str(root / ".venv-trainer" / "bin" / "python")
    try:
        done = subprocess.run(
            [python, gpu_look.__file__, str(root)],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Finding("trainer", f"{python}: {error}", False, _TRAINER)
        return
    yield from _said(done.stdout.splitlines(), f"{python}: {done.stderr[-300:]}")
    yield Finding("Ray's CPUs", "a private head offers as many as verl asks for", True)


def _cluster(root: Path) -> Iterator[Finding]:
    from pipeline.ops.cluster.client import configured_address, connect
    from pipeline.ops.cluster.job import Job
    from pipeline.ops.cluster.run import run_job

    work, lines = root / "work", list[str]()
    try:
        address = configured_address(os.environ)
        assert address is not None
        yield _processors(connect(address).node_resources())
        work.mkdir(exist_ok=True)
        with (
            tempfile.NamedTemporaryFile(dir=work.resolve()) as mark,
            tempfile.TemporaryDirectory() as folder,
        ):
            shutil.copy2(gpu_look.__file__, Path(folder, "look.py"))
            job = Job(
                name="doctor",
                arguments=("python", "look.py", mark.name, gpu_look.NODES),
                folder=Path(folder),
                gpus=0,
                time_limit=_SECONDS,
                stall_limit=_SECONDS,
            )
            ended = run_job(job, lines.append)
    except (UserError, TransientError) as error:
        yield Finding("cluster", str(error), False, "do what the message says")
        return
    yield from _said(lines, ended.message)


def _processors(nodes: Sequence[tuple[int, int]]) -> Finding:
    from pipeline.ops.verl.spec import HELPER_CPUS, RANK_CPUS

    wanted = HELPER_CPUS + RANK_CPUS * max((gpus for gpus, _ in nodes), default=1)
    return Finding(
        "Ray's CPUs",
        ", ".join(f"{cpus} with {gpus} GPUs" for gpus, cpus in nodes) or "no node",
        sum(cpus for _, cpus in nodes) >= wanted,
        f"verl takes {wanted} on the largest node: start nodes with a larger --num-cpus",
    )


def _said(lines: Sequence[str], otherwise: str) -> Iterator[Finding]:
    """Read what the nodes have printed; ``otherwise`` is why they have printed nothing."""
    said = [line for line in lines if line.startswith(gpu_look.FOUND)]
    nodes: Nodes = json.loads(said[-1].removeprefix(gpu_look.FOUND)) if said else {}
    if not nodes:
        shown = otherwise if not said else "no node has a GPU"
        yield Finding("nodes", shown, False, "start nodes with GPUs, or do what the message says")
    for subject, repair in _REPAIRS.items():
        for shown, names in _alike(nodes, subject).items():
            where = "" if len(nodes) == 1 else f" on {', '.join(names)}"
            ok = not shown.startswith("!") and (subject != "driver" or _is_new(shown))
            yield Finding(subject, shown.removeprefix("! ") + where, ok, repair)
    if nodes:
        shown = next(iter(nodes.values()))["nvcc"]
        unused = "not installed, and not needed: FlashInfer's sampler is off"
        yield Finding("nvcc", shown or unused, True if shown else None)


def _alike(nodes: Nodes, subject: str) -> dict[str, list[str]]:
    """The nodes by what they say of a subject."""
    found: dict[str, list[str]] = {}
    for name, node in nodes.items():
        found.setdefault(node[subject], []).append(name)
    return found


def _is_new(shown: str) -> bool:
    version = re.search(r"(\d+)\.[\d.]+\s*$", shown)
    return bool(version and int(version[1]) >= OLDEST_DRIVER)
