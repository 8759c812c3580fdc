"""What names the objects of an artifact store: results, work in progress, and DVC's cache of both.

A digest has 64 digits and stands for nothing else, so wherever one is written it names its object,
whatever the file around it means.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.base.home import checkouts_of, home_of
from pipeline.formats.records import UNREADABLE
from pipeline.formats.store import LocalStore
from pipeline.ops.driver.checkout import ask_dvc

_DIGEST = re.compile(rb"[0-9a-f]{64}")
_NAMING = ("runs", "reports", "work")
_LARGEST_MANIFEST = 1 << 20  # bytes; those of a study with hundreds of cells take a tenth of it


@dataclass(frozen=True)
class Usage:
    """The objects of a store, each in one set.

    Attributes:
        named: By a file that is present in a checkout.
        cached: By a file in a DVC cache alone.
        recent: By nothing, but new: what names it may not be written yet.
        unused: By nothing.
    """

    named: frozenset[str]
    cached: frozenset[str]
    recent: frozenset[str]
    unused: frozenset[str]


def needed(root: Path) -> dict[str, Path]:
    """Return the objects that the results of a checkout name, each with a manifest that does.

    Raises:
        UserError: If it has no manifest.
    """
    manifests = sorted((root / "runs").rglob("checkpoints.json"))
    if not manifests:
        raise UserError(
            f"{root / 'runs'} has no checkpoints.json, which name what to push and pull; get "
            "results first: dvc pull, or dvc repro"
        )
    return {digest: path for path in manifests for digest in sorted(_models(path))}


def _models(manifest: Path) -> set[str]:
    """Return the digests of the models in a manifest, which has digests of other things too."""
    try:
        models = json.loads(manifest.read_bytes()).get("checkpoints", {}).values()
        digests = {model["digest"] for model in models}
        if all(_DIGEST.fullmatch(digest.encode()) for digest in digests):
            return digests
    except (*UNREADABLE, AttributeError, KeyError, TypeError):
        pass
    raise UserError(
        f"{manifest} is damaged: it does not name models by digest. Restore it: dvc checkout"
    )


def put_at(store: LocalStore) -> dict[str, float]:
    """Return when each object was put into a store, in seconds since 1970."""
    return {name: (store.root / name).stat().st_ctime for name in store.digests()}


def usage(objects: Mapping[str, float], roots: Iterable[Path], since: float) -> Usage:
    """Return what names the objects of a store.

    Args:
        objects: When each was put there, in seconds since 1970.
        roots: Checkouts that use it; those that share theirs are added (``pipeline.base.home``).
        since: When an object was put there that is recent, by the same clock, or later.

    Raises:
        UserError: If DVC does not say where its cache is.
    """
    recent = {name for name, seconds in objects.items() if seconds > since}
    checkouts = {other for root in roots for other in (root, *checkouts_of(home_of(root)))}
    named = objects.keys() & _digests(_manifests(checkouts))
    cached = objects.keys() & _digests(_cached(checkouts)) - named
    rest = frozenset(objects) - named - cached
    return Usage(frozenset(named), frozenset(cached), rest & recent, rest - recent)


def _manifests(checkouts: Iterable[Path]) -> Iterator[Path]:
    for root in checkouts:
        for name in _NAMING:
            yield from (root / name).rglob("*.json")


def _cached(checkouts: Iterable[Path]) -> Iterator[Path]:
    for folder in {ask_dvc(r, "cache", "dir").strip() for r in checkouts if (r / ".dvc").is_dir()}:
        for file in Path(folder).rglob("*"):
            if file.is_file() and file.stat().st_size <= _LARGEST_MANIFEST:
                yield file


def _digests(files: Iterable[Path]) -> frozenset[str]:
    return frozenset(digest.decode() for file in files for digest in _DIGEST.findall(_read(file)))


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:  # a stage under way has just removed its former results
        return b""
