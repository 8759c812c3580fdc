"""What names the objects of an artifact store: results, work in progress, and DVC's cache of both.

A digest has 64 digits and stands for nothing else, so wherever one is written it names its object,
whatever the file around it means.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.checkout import ask_dvc
from pipeline.home import checkouts_of, home_of
from pipeline.store import LocalStore

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


def usage(store: LocalStore, roots: Iterable[Path], hours: float) -> Usage:
    """Return what names the objects of a store.

    Args:
        store: The store.
        roots: Checkouts that use it; those that share theirs (see ``pipeline.home``) are added.
        hours: Age up to which an object is recent.

    Raises:
        UserError: If DVC does not say where its cache is.
    """
    objects = frozenset(store.digests())
    since = time.time() - 3600 * hours
    recent = {name for name in objects if (store.root / name).stat().st_ctime > since}
    checkouts = {other for root in roots for other in (root, *checkouts_of(home_of(root)))}
    named = objects & _digests(_manifests(checkouts))
    cached = objects & _digests(_cached(checkouts)) - named
    rest = objects - named - cached
    return Usage(named, cached, rest & recent, rest - recent)


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
