"""Weights: a stage's models, a folder each, named by the digest of its files.

DVC tracks them as an output of the stage; cache and checkout share the files by hard links. Records
in ``runs/`` name the digests.
"""

from __future__ import annotations

import shutil
import stat
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.formats.files import (
    digest_of,
    discard,
    folder_digests,
    link_or_copy,
    remove,
    replacing,
    write_text,
)

_NONE = "none.txt"


@dataclass(frozen=True)
class WeightsFolder:
    """The models of one stage: ``<root>/<digest>/<files>``; ``made_by`` is its name in DVC."""

    root: Path
    made_by: str

    def take(self, folder: Path) -> str:
        digest = digest_of(folder_digests(folder))
        if self._has(digest):
            remove(folder)
        else:
            with replacing(self.root / digest) as temporary:
                shutil.move(folder, temporary)
        return digest

    def copy(self, folder: Path) -> str:
        return self._bring(folder, digest_of(folder_digests(folder)), shutil.copyfile)

    def link(self, folder: Path) -> str:
        """Link a folder here and return its digest; see :func:`link_or_copy`."""
        return self._bring(folder, digest_of(folder_digests(folder)), link_or_copy)

    def share(self, other: WeightsFolder, digest: str) -> str:
        """Link another stage's model here and return its digest; raises as :meth:`get`."""
        return self._bring(other.get(digest), digest, link_or_copy)

    def keep_only(self, digests: Collection[str]) -> None:
        for path in self.root.iterdir():
            if path.name not in digests:
                discard(path)

    def keep_none(self, why: str) -> None:
        """Write the reason why there are no weights: DVC needs an output."""
        write_text(self.root / _NONE, f"{why}\n")
        self.keep_only([_NONE])

    def get(self, digest: str) -> Path:
        """The folder of a model with verified files; UserError if it is absent or altered."""
        folder = self.root / digest
        again = f"dvc repro --single-item --force {self.made_by}"
        if not folder.is_dir():
            raise UserError(
                f"model {digest[:12]}, which stage {self.made_by} made, is not in {self.root}. "
                f"Restore it: dvc checkout {self.made_by}, or dvc pull {self.made_by}; or make it "
                f"again: {again}"
            )
        if not self._has(digest):
            _make_dvc_look(self.root)  # what altered one model may have altered others
            raise UserError(
                f"model {digest[:12]}, which stage {self.made_by} made, is altered: the files in "
                f"{folder} do not have the digest that it is named by. Restore it: dvc checkout "
                f"--force {self.made_by}, or dvc pull --force {self.made_by}; or make it again: "
                f"{again}"
            )
        return folder

    def _bring(self, folder: Path, digest: str, copy: Callable[[str, str], object]) -> str:
        if not self._has(digest):
            with replacing(self.root / digest) as temporary:
                shutil.copytree(folder, temporary, copy_function=copy)
        return digest

    def _has(self, digest: str) -> bool:
        folder = self.root / digest
        return folder.is_dir() and digest_of(folder_digests(folder)) == digest


def _make_dvc_look(folder: Path) -> None:
    """Have DVC verify its copies of altered files.

    They may be the same files, and DVC trusts read-only ones.
    """
    for path in folder.rglob("*"):
        with suppress(OSError):  # it is another's
            path.chmod(path.stat().st_mode | stat.S_IWUSR)
