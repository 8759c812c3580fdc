"""Health and drift of a checkout: are results, upstream files, servers and disk as they should be?

Like `tomrl doctor`, but of what changes while nobody looks, and without a repair for a newcomer.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from pipeline.base.errors import TransientError, UserError
from pipeline.data.acquire import acquire, verify
from pipeline.data.sources import SOURCES, Source
from pipeline.formats.download import MIRROR_VARIABLE
from pipeline.formats.plural import counted
from pipeline.ops.check.doctor import Finding, libraries
from pipeline.ops.cluster.client import configured_address, connect
from pipeline.ops.driver.checkout import ask_dvc
from pipeline.ops.mirror.server import prepare, tracking_uri, without_secrets

_ANSWER_SECONDS = 30
_SQLITE = "sqlite:///"


def results(root: Path) -> Iterator[Finding]:
    """Compare what DVC tracks with the digests in ``dvc.lock``, and libraries with those in use.

    What is not on this disk is not compared: a fresh checkout has nothing yet.
    """
    found = json.loads(ask_dvc(root, "data", "status", "--json") or "{}")
    uncommitted = found.get("uncommitted", {})
    missing = uncommitted.get("deleted", [])
    altered = sorted({*uncommitted.get("modified", []), *uncommitted.get("unknown", [])})
    shown = f"{counted(len(missing), 'result')} not on this disk" if missing else "all as made"
    yield Finding(
        "results",
        f"altered: {', '.join(altered)}" if altered else shown,
        not altered and (None if missing else True),
        "`dvc checkout --force PATH` brings back what dvc.lock names; `dvc repro` makes it again",
    )
    yield from libraries(root)


def kept_files(root: Path) -> Iterator[Finding]:
    """Verify every upstream file on this machine: in the mirror, and in the studies' data."""
    mirror = os.environ.get(MIRROR_VARIABLE)
    for source in SOURCES.values():
        folders = [*sorted((root / "data").glob(f"*/raw/{source.name}"))]
        folders += [Path(mirror) / source.name] if mirror else []
        kept = [
            (folder / file.name, file)
            for folder in folders
            for file in source.files
            if (folder / file.name).is_file()
        ]
        faults = []
        for path, file in kept:
            try:
                verify(path, file)
            except UserError as error:
                faults.append(str(error))
        shown = f"{counted(len(kept), 'file')} as pinned" if kept else "no file on this machine"
        yield Finding(
            f"files of {source.name}",
            "; ".join(faults) or shown,
            not faults and (bool(kept) or None),
            "remove the file and run `dvc repro --force acquire@SOURCE`, or fix the mirror",
        )


def offered_files() -> Iterator[Finding]:
    """Download every upstream file from its address, and verify that it is the one pinned."""
    for source in SOURCES.values():
        yield Finding(
            f"addresses of {source.name}",
            (fault := _download(source)) or f"{counted(len(source.files), 'file')} as pinned",
            not fault,
            "look at the address in pipeline/data/sources.json; a mirror still has what was pinned",
        )


def _download(source: Source) -> str:
    """Why a source cannot be had as it was pinned, empty if it can."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = acquire(source.name, Path(folder), progress=False)
        except UserError as error:
            return str(error)
        return "" if found else "out of reach"


def servers(root: Path) -> Iterator[Finding]:
    """Ask servers and remotes whether they answer; what is not configured is not asked."""
    yield _mlflow(root)
    yield _ray()
    yield _prefect()
    yield _remote_of_dvc(root)


def _mlflow(root: Path) -> Finding:
    uri = tracking_uri(root)
    if uri.startswith(_SQLITE) and not Path(uri.removeprefix(_SQLITE)).exists():
        return Finding("mlflow", f"{uri}: no run yet", None)
    try:
        prepare(root)
    except UserError as error:
        return Finding("mlflow", str(error), False, "start it, or correct its address")
    return Finding("mlflow", f"{without_secrets(uri)} answers", True)


def _ray() -> Finding:
    try:
        if (address := configured_address(os.environ)) is None:
            return Finding("ray", "RAY_ADDRESS is not set", None)
        connect(address)
    except (UserError, TransientError) as error:
        return Finding("ray", str(error), False, "start it, or correct its address")
    return Finding("ray", f"{address} answers", True)


def _prefect() -> Finding:
    address = os.environ.get("PREFECT_API_URL", "")
    if not address.startswith("http"):
        unasked = f"{address}: not asked, as it is not an http address"
        return Finding("prefect", unasked if address else "PREFECT_API_URL is not set", None)
    try:
        with urllib.request.urlopen(f"{address.rstrip('/')}/health", timeout=_ANSWER_SECONDS):
            said, ok = "answers", True
    except (OSError, ValueError) as error:
        said, ok = f"does not answer ({error})", False
    repair = "start it, or set PREFECT_API_URL to http://HOST:4200/api"
    return Finding("prefect", f"{without_secrets(address)} {said}", ok, repair)


def _remote_of_dvc(root: Path) -> Finding:
    subject = "remote of DVC"
    if not (root / ".dvc").is_dir():
        return Finding(subject, "no DVC repository", None)
    from dvc.repo import Repo  # here: it takes a second, and few checkouts have a remote

    with Repo(str(root)) as repo:
        name = repo.config["core"].get("remote")
        if not name:
            return Finding(subject, "none is set", None)
        try:
            remote = repo.cloud.get_remote(name)
            remote.fs.ls(remote.path)
        except FileNotFoundError:
            return Finding(subject, f"{name} has nothing yet", None)
        except Exception as error:  # what a storage's client raises; its text may quote keys
            refusal = f"{name} does not answer ({type(error).__name__})"
            return Finding(subject, refusal, False, "fix it: dvc remote list, dvc remote modify")
    return Finding(subject, f"{name} answers", True)


def disk(root: Path, gibibytes: float) -> Iterator[Finding]:
    """Compare the room where results, artifacts and temporary files go with what is wanted."""
    places = {
        "checkout": root,
        "temporary files": Path(tempfile.gettempdir()),
    }
    for name, place in places.items():
        folder = next(path for path in (place, *place.parents) if path.exists())
        free = shutil.disk_usage(folder).free / 2**30
        yield Finding(
            f"disk of {name}",
            f"{free:.1f} GiB free in {folder}, {gibibytes:g} wanted",
            free >= gibibytes,
            "remove what `tomrl clean --dry-run` and `dvc gc --dry --all-commits` list",
        )
