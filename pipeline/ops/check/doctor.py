"""``tomrl doctor``: what this machine has, what is missing, and how to fix it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from pipeline.base import git
from pipeline.base.errors import UserError
from pipeline.data.sources import SOURCES
from pipeline.formats.download import MIRROR_VARIABLE
from pipeline.formats.plural import counted
from pipeline.formats.provenance import Libraries, changed
from pipeline.formats.records import UNREADABLE
from pipeline.ops.check.prefect_home import check_prefect

_PACKAGES = ("torch", "transformers", "dvc", "prefect", "mlflow", "ray", "math-verify")
_SHOWN = 12
_MEMORY_NEEDED = 4 * 2**30
_DISK_NEEDED = 5 * 2**30


@dataclass(frozen=True)
class Finding:
    """One line of the diagnosis; ``repair`` says what to do where ``ok`` is false.

    ``ok`` is None for what is optional and absent.
    """

    subject: str
    found: str
    ok: bool | None
    repair: str = ""


def diagnose(root: Path) -> list[Finding]:
    """Everything worth knowing about this machine."""
    return [
        *_python(),
        *_git(root),
        *_packages(),
        *_hardware(),
        *_mirror(os.environ.get(MIRROR_VARIABLE)),
        *_paths(root),
        *shipped(root),
        *_home(),
        *libraries(root),
    ]


def _python() -> Iterator[Finding]:
    ok = sys.version_info >= (3, 11)
    yield Finding("python", sys.version.split()[0], ok, "install Python 3.11 or newer")


def _git(root: Path) -> Iterator[Finding]:
    """The version of git, and what it says of the checkout."""
    try:
        found = git.version(root)
    except UserError as error:
        yield Finding("git", "not found", False, str(error))
        return
    oldest = ".".join(map(str, git.OLDEST))
    said = f"{'.'.join(map(str, found))}, {shutil.which('git')}"
    yield Finding("git", said, found >= git.OLDEST, f"install git {oldest} or newer")
    try:
        commit = git.git(root, *git.HEAD)[:_SHOWN]
        edited = git.git(root, "status", "--porcelain", "--untracked-files=no")
        files = git.git(root, "ls-files", "-t").splitlines()
    except UserError as error:
        yield Finding("commit", "not known", False, str(error))
    else:
        yield Finding("commit", f"{commit}, edited" if edited else commit, True)
        if left_out := [line[2:] for line in files if line.startswith("S ")]:
            said = f"{counted(len(left_out), 'file')} left out, such as {left_out[0]}"
            yield Finding("sparse checkout", said, None, "to have all: git sparse-checkout disable")


def _packages() -> Iterator[Finding]:
    for name in _PACKAGES:
        try:
            yield Finding(name, version(name), True)
        except PackageNotFoundError:
            yield Finding(name, "not installed", False, "run: make setup")


def _hardware() -> Iterator[Finding]:
    cores = len(os.sched_getaffinity(0))
    yield Finding("cores", str(cores), cores >= 2, "one core is enough, at half the speed")
    memory = psutil.virtual_memory().available
    yield Finding(
        "free memory",
        f"{memory / 2**30:.1f} GiB",
        memory >= _MEMORY_NEEDED,
        "the default study needs 4 GiB: close other programs",
    )
    import torch

    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    names = ", ".join(torch.cuda.get_device_name(i) for i in range(gpus))
    yield Finding("gpu", names or "none", True if gpus else None, "not needed for tiny models")


def _mirror(folder: str | None) -> Iterator[Finding]:
    if not folder:
        repair = f"set {MIRROR_VARIABLE} to a folder of upstream data, or let acquire download it"
        yield Finding("data mirror", "not set", None, repair)
        return
    path = Path(folder)
    present = [name for name in SOURCES if (path / name).is_dir()]
    missing = [name for name in SOURCES if name not in present]
    found = f"{path}: {len(present)} of {len(SOURCES)} sources"
    repair = f"{MIRROR_VARIABLE} lacks the folders {', '.join(missing)}"
    yield Finding("data mirror", found, bool(present) or False, repair)


def _paths(root: Path) -> Iterator[Finding]:
    for name, folder in {
        "checkout": root,
        "temporary files": Path(os.environ.get("TMPDIR", "/tmp")),
    }.items():
        writable = os.access(folder, os.W_OK)
        yield Finding(name, str(folder), writable, f"make {folder} writable")
    free = shutil.disk_usage(root).free
    yield Finding(
        "free disk",
        f"{free / 2**30:.1f} GiB",
        free >= _DISK_NEEDED,
        "5 GiB are needed for the environment and the default study",
    )


def _home() -> Iterator[Finding]:
    """Where Prefect keeps its database; DVC's stages need no home."""
    try:
        yield Finding("prefect's home", str(check_prefect()), True)
    except UserError as error:
        yield Finding("prefect's home", os.environ.get("HOME") or "not set", False, str(error))


def shipped(root: Path) -> Iterator[Finding]:
    """Whether the models in ``models/`` are whole, and made by the recipes of their studies."""
    from pipeline.stages.shipping import FOLDER, shipped_models
    from pipeline.train.shipped import check

    wrong = []
    try:
        models = shipped_models(root)
    except UserError as error:
        yield Finding("shipped models", "not known", False, str(error))
        return
    for name, model in models.items():
        try:
            check(root / FOLDER / name, model.entry)
        except UserError as error:
            wrong.append(str(error))
    said = f"{len(models) - len(wrong)} of {len(models)} as their studies state"
    if models:
        yield Finding("shipped models", said, not wrong, "; ".join(wrong))


def libraries(root: Path) -> Iterator[Finding]:
    """Compare the libraries that each study's results were made with to those installed.

    A manifest names those of a base model, which may be shipped: repeating a study changes none.
    """
    for folder in sorted(path for path in (root / "runs").glob("*") if path.is_dir()):
        results = (
            path for path in sorted(folder.rglob("*.json")) if path.name != "checkpoints.json"
        )
        made_with = [found for path in results if (found := _libraries(path))]
        differ = [changed(libraries) for libraries in made_with]
        other = {name: versions for each in differ for name, versions in each.items()}
        said = ", ".join(f"{n} {made}, installed is {here}" for n, (made, here) in other.items())
        count = counted(sum(map(bool, differ)), "file")
        yield Finding(
            f"results of {folder.name}",
            f"{count} made with {said}" if other else "made with the installed libraries",
            not other,
            "install those versions (make setup), or make the results again: dvc repro --force",
        )


def _libraries(path: Path) -> Libraries:
    """The libraries that a record names; none where it names none or is damaged."""
    try:
        content = json.loads(path.read_bytes())
    except UNREADABLE:
        return {}
    found = content.get("libraries") if isinstance(content, dict) else None
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}
