"""Expected files of a published model.

``hub.json`` beside this file has repositories, commits, sizes and sha256. The hub's listing of the
commit supplies the rest: sha256 of large files, git object names of small ones. Both must agree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.base.errors import UserError
from pipeline.formats.download import Expected
from pipeline.formats.files import digest_of, read_json

INDEX = "model.safetensors.index.json"
COMMIT = re.compile(r"[0-9a-f]{40}")

_TABLE = Path(__file__).with_name("hub.json")
_FILE = re.compile(r"[A-Za-z0-9][\w.-]*")
_WEIGHTS = re.compile(r"model(-\d+-of-\d+)?\.safetensors")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
# What models and tokenizers are described by. Code (.py) is never taken.
_DESCRIPTIONS = (".json", ".txt", ".jinja", ".model")


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of a snapshot, with its expected size and digest."""

    name: str
    bytes: int | None = None
    sha256: str | None = None
    git_blob: str | None = None

    @property
    def expected(self) -> Expected:
        return Expected(self.bytes, self.sha256, self.git_blob)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The model files of a repository at one commit; ``complete`` if all have digests."""

    repository: str
    revision: str
    files: tuple[HubFile, ...]
    complete: bool = True

    def stored_digest(self) -> str | None:
        """The digest of a folder with exactly these files; None if some are unknown."""
        digests = {file.name: file.sha256 for file in self.files}
        known = self.complete and digests and None not in digests.values()
        return digest_of(digests) if known else None


def pinned(repository: str, revision: str | None = None) -> Snapshot | None:
    """The table's entry of a repository, at its own commit or the given one."""
    entry = read_json(_TABLE).get(repository)
    if entry is None or revision not in (None, entry["revision"]):
        return None
    files = tuple(HubFile(**file) for file in entry["files"])
    return Snapshot(repository, entry["revision"], files, entry["complete"])


def read_listing(place: Path, repository: str, revision: str) -> Snapshot:
    """Read a hub's listing of a commit: ``/api/models/REPOSITORY/revision/COMMIT?blobs=true``."""
    try:
        content = json.loads(place.read_text(encoding="utf-8"))
        commit = content["sha"]
        files = [_listed(entry) for entry in content["siblings"]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{place}: not what a hub says about {repository} ({error!r}); is "
            "HF_ENDPOINT the address of a model hub?"
        ) from None
    if not COMMIT.fullmatch(str(commit)) or (COMMIT.fullmatch(revision) and commit != revision):
        raise UserError(f"{place}: lists commit {commit!r} of {repository}, not {revision}")
    return Snapshot(repository, commit, _to_take(files, repository))


def _listed(entry: dict[str, Any]) -> HubFile:
    large = entry.get("lfs")
    if large:
        return HubFile(entry["rfilename"], int(large["size"]), str(large["sha256"]))
    return HubFile(entry["rfilename"], int(entry["size"]), git_blob=str(entry["blobId"]))


def _to_take(files: list[HubFile], repository: str) -> tuple[HubFile, ...]:
    names = weights_and_descriptions({file.name for file in files}, repository)
    return tuple(sorted((f for f in files if f.name in names), key=lambda file: file.name))


def weights_and_descriptions(names: Collection[str], repository: str) -> set[str]:
    """The names of files with weights (safetensors only) and with descriptions of the model."""
    if not any(_WEIGHTS.fullmatch(name) for name in names):
        pickles = sorted(name for name in names if name.endswith(_PICKLES))
        found = f"only pickled ones ({', '.join(pickles)})" if pickles else "none"
        raise UserError(
            f"{repository} has no safetensors weights, {found}: loading a pickle can run any code, "
            "so that is never done; use a revision or a repository with model.safetensors"
        )
    whole = "model.safetensors" in names

    def taken(name: str) -> bool:
        if _WEIGHTS.fullmatch(name):
            return name == "model.safetensors" or not whole
        return name.endswith(_DESCRIPTIONS) and not (whole and name == INDEX)

    return {name for name in names if _FILE.fullmatch(name) and taken(name)}


def agreed(listed: Snapshot, table: Snapshot) -> Snapshot:
    """Add the table's digests to the hub's listing; UserError if they conflict."""
    known = {file.name: file for file in table.files}
    files = []
    for file in listed.files:
        pin = known.pop(file.name, file)
        for field_name in ("bytes", "sha256"):
            ours, theirs = getattr(pin, field_name), getattr(file, field_name)
            if None not in (ours, theirs) and ours != theirs:
                raise UserError(
                    f"{table.repository}/{file.name}: the hub states {field_name} {theirs}, pinned "
                    f"is {ours}; this hub does not serve the pinned model"
                )
        files.append(replace(file, bytes=file.bytes or pin.bytes, sha256=file.sha256 or pin.sha256))
    if known:
        raise UserError(f"{table.repository}: the hub does not list {', '.join(known)}")
    return replace(listed, files=tuple(files))
