"""Who runs what on which machine, as tags of runs in MLflow."""

from __future__ import annotations

import logging
import os
import platform
from getpass import getuser
from pathlib import Path

import psutil

from pipeline.base.errors import UserError
from pipeline.base.git import checked_out, git
from pipeline.formats.provenance import MODEL, installed

log = logging.getLogger(__name__)

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
    return tags | _commit(root)


def _commit(root: Path) -> dict[str, str]:
    """The commit of a checkout, or why it is not known; nothing outside of a repository."""
    try:
        if not (commit := checked_out(root)):
            return {}
        edited = bool(git(root, "status", "--porcelain", "--untracked-files=no"))
    except UserError as error:  # results name their inputs by digest: a label less stops no stage
        log.warning("MLflow will not have the commit: %s", error)
        return {"git.unknown": str(error)}
    return {COMMIT: commit, "git.edited": str(edited).lower()}


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
