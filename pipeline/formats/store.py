"""The artifact store: folders kept under the digest of their content.

Checkpoints are put here and named by digest in small manifests that DVC tracks, so that DVC never
hashes or copies gigabytes while it holds its lock.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from pipeline.base.errors import UserError
from pipeline.base.home import home_of
from pipeline.formats.files import digest_of, discard, folder_digests, replacing

STORE_VARIABLE = "TOMRL_STORE"
_NAME = re.compile(r"[0-9a-f]{64}")


class LocalStore:
    """A store in a local folder: ``<root>/<digest>/<files>``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, folder: Path) -> str:
        """Copy a folder into the store, in place of an altered object, and return its digest."""
        digest = _digest(folder)
        target = self.root / digest
        if not self.verify(digest):
            with replacing(target) as temporary:
                shutil.copytree(folder, temporary)
        return digest

    def get(self, digest: str, made_by: str) -> Path:
        """Return the folder of an object after verifying its content.

        Args:
            digest: What a manifest names.
            made_by: The DVC stage that made it, for the error message.

        Raises:
            UserError: If the object is gone or altered; names the repair.
        """
        folder = self.root / digest
        if not folder.is_dir():
            raise UserError(
                f"artifact {digest[:12]} is not in the store {self.root}; it was made by stage "
                f"{made_by}. Set {STORE_VARIABLE} to the store that holds it, fetch it from a "
                "remote: tomrl store pull, or make it again: "
                f"dvc repro --single-item --force {made_by}"
            )
        if not self.verify(digest):
            raise UserError(
                f"artifact {digest[:12]} in {self.root} is altered: its files do not have the "
                f"digest they are stored under. Delete {folder} and make it again: "
                f"dvc repro --single-item --force {made_by}"
            )
        return folder

    def verify(self, digest: str) -> bool:
        """Return whether an object's files still have the digest they are stored under."""
        return _digest(self.root / digest) == digest

    def digests(self) -> list[str]:
        """Return the digests of all objects."""
        if not self.root.is_dir():
            return []
        return sorted(p.name for p in self.root.iterdir() if _NAME.fullmatch(p.name))

    def prune(self, keep: set[str]) -> tuple[str, ...]:
        """Remove every object that is not in ``keep``; return what was removed."""
        removed = tuple(digest for digest in self.digests() if digest not in keep)
        for digest in removed:
            discard(self.root / digest)
        return removed


def _digest(folder: Path) -> str:
    return digest_of(folder_digests(folder))


def default_store(root: Path) -> LocalStore:
    """Return the store named by ``TOMRL_STORE``, else ``store/`` in the home checkout."""
    return LocalStore(Path(os.environ.get(STORE_VARIABLE) or home_of(root) / "store").resolve())
