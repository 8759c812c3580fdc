"""Who runs what on which machine, as tags of runs in MLflow."""

from __future__ import annotations

import os
import platform
from getpass import getuser
from pathlib import Path
from subprocess import run

import psutil

from pipeline.formats.provenance import MODEL, installed

COMMIT = "mlflow.source.git.commit"


def circumstances(root: Path) -> dict[str, str]:
    """Who runs what on which machine, as tags."""
    tags = {
        "mlflow.user": _user(),
        "mlflow.source.name": "dvc.yaml",
        "mlflow.source.type": "PROJECT",
        "hardware.cores": str(len(os.sched_getaffinity(0))),
        "hardware.memory_gb": f"{psutil.virtual_memory().total / 1e9:.0f}",
        "hardware.processor": processor(),
        "hardware.accelerators": ", ".join(_accelerators()) or "none",
        "version.python": platform.python_version(),
        **{f"version.{name}": number for name, number in installed(*MODEL, "verl").items()},
    }
    if commit := checked_out(root):
        edited = bool(_git(root, "status", "--porcelain", "--untracked-files=no"))
        tags |= {COMMIT: commit, "git.edited": str(edited).lower()}
    return tags


def checked_out(root: Path) -> str:
    """The commit of a checkout; empty outside of git."""
    return _git(root, "rev-parse", "HEAD")


def processor(cpus: Path = Path("/proc/cpuinfo")) -> str:
    """The name of the processor, or its kind where Linux does not say."""
    named = _value("model name", cpus)
    return named or platform.processor() or platform.machine()


def _accelerators(driver: Path = Path("/proc/driver/nvidia/gpus")) -> list[str]:
    """The names of the accelerators, as NVIDIA's driver has them: no library is asked."""
    return [_value("Model", path) for path in sorted(driver.glob("*/information"))]


def _value(name: str, path: Path) -> str:
    """What a file of ``NAME: VALUE`` lines says first of a name; else nothing."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    pairs = (line.partition(":") for line in lines)
    return next((value.strip() for key, _, value in pairs if key.strip() == name), "")


def _user() -> str:
    try:
        return getuser()
    except (KeyError, OSError):  # a container without a name for its user
        return str(os.getuid())


def _git(root: Path, *arguments: str) -> str:
    try:
        found = run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, timeout=10, check=False
        )
    except OSError:
        return ""
    return found.stdout.strip() if found.returncode == 0 else ""
