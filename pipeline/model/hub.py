"""Published models: snapshots of a model hub, pinned by commit, every file verified.

Files come from a mirror folder, ``<mirror>/models/<repository>/<commit>/<file>``, or from the hub,
whose addresses are those of the Hugging Face Hub's public interface:
``/api/models/{repository}/revision/{revision}?blobs=true`` and
``/{repository}/resolve/{revision}/{file}``. After the first download the sha256 of every file is
recorded and binds later runs.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

from pipeline.base.errors import UserError
from pipeline.formats.download import (
    DEFAULT_PATIENCE,
    MIRROR_VARIABLE,
    OFFLINE_VARIABLE,
    AlteredFile,
    DownloadError,
    Patience,
    RemoteFile,
    Report,
    download,
    progress_bar,
    verify,
)
from pipeline.formats.files import file_digest, read_json, write_json
from pipeline.model.snapshot import COMMIT, HubFile, Snapshot, agreed, pinned, read_listing

ENDPOINT_VARIABLE = "HF_ENDPOINT"
TOKEN_VARIABLE = "HF_TOKEN"
LISTING = "listing.json"

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True, slots=True)
class Access:
    """Source of models: the hub with its access token, or a mirror folder, and retries."""

    endpoint: str = "https://huggingface.co"
    token: str | None = field(default=None, repr=False)
    mirror: Path | None = None
    offline: bool = False
    patience: Patience = DEFAULT_PATIENCE


def access_from(environment: Mapping[str, str] = os.environ) -> Access:
    """Read access from ``HF_ENDPOINT``, ``HF_TOKEN``, ``TOMRL_DATA_MIRROR``, ``TOMRL_OFFLINE``."""
    endpoint = (environment.get(ENDPOINT_VARIABLE) or Access().endpoint).rstrip("/")
    if not endpoint.startswith(("https://", "http://")):
        raise UserError(f"{ENDPOINT_VARIABLE} is {endpoint!r}; allowed: an http(s) address")
    token = environment.get(TOKEN_VARIABLE, "").strip()
    if token and not re.fullmatch(r"[!-~]+", token):
        raise UserError(f"{TOKEN_VARIABLE} is not an access token: it holds spaces or line breaks")
    mirror = environment.get(MIRROR_VARIABLE)
    return Access(
        endpoint,
        token or None,
        Path(mirror) if mirror else None,
        environment.get(OFFLINE_VARIABLE, "") not in ("", "0"),
    )


def fetch(
    repository: str, revision: str | None, work: Path, access: Access
) -> tuple[Snapshot, Path]:
    """Bring a snapshot into a folder.

    Args:
        revision: A commit; by default the table's. A branch, or no revision of a repository outside
            the table, is resolved to its commit, with a warning.
        work: Keeps unfinished downloads and the record between runs.

    Returns:
        The snapshot with the sha256 of every file, and the folder of its files.

    Raises:
        UserError: If a file is unavailable, unexpected or unsafe to load.
    """
    if not _REPOSITORY.fullmatch(repository):
        raise UserError(
            f"repository {repository!r} is not a name on a model hub; allowed: OWNER/NAME"
        )
    work.mkdir(parents=True, exist_ok=True)
    snapshot = _snapshot(repository, revision, work, access)
    folder = work / "files"
    with progress_bar(wanted=True) as report:
        _Fetcher(snapshot, folder, access, report).fetch_all()
    files = tuple(
        replace(
            file,
            bytes=(folder / file.name).stat().st_size,
            sha256=file.sha256 or file_digest(folder / file.name),
        )
        for file in snapshot.files
    )
    snapshot = replace(snapshot, files=files, complete=True)
    write_json(_record(work, snapshot.revision), asdict(snapshot))
    return snapshot, folder


def _snapshot(repository: str, revision: str | None, work: Path, access: Access) -> Snapshot:
    """Resolve the commit and the expected files."""
    table = pinned(repository, revision)
    if table and table.complete:
        return table
    wanted = table.revision if table else revision
    if wanted and COMMIT.fullmatch(wanted):
        recorded = _record(work, wanted)
        if recorded.is_file():
            content = read_json(recorded)
            return Snapshot(**{**content, "files": tuple(HubFile(**f) for f in content["files"])})
    elif access.offline or access.mirror:
        raise UserError(
            f"{repository}: revision {wanted!r} is not a commit, and only the hub knows which one "
            f"is meant; give the 40 digits of the commit as revision, or unset {MIRROR_VARIABLE} "
            f"and {OFFLINE_VARIABLE}"
        )
    listed = _listing(repository, wanted or "main", work, access)
    if wanted != listed.revision:
        print(
            f"warning: {repository} is not pinned: {wanted or 'main'} is commit {listed.revision} "
            f"today and may be another tomorrow. Pin it in the study: revision: {listed.revision}",
            file=sys.stderr,
        )
    return agreed(listed, table) if table else listed


def _record(work: Path, revision: str) -> Path:
    return work / f"{revision}.json"


def _listing(repository: str, revision: str, work: Path, access: Access) -> Snapshot:
    where = f"/api/models/{repository}/revision/{quote(revision, safe='')}?blobs=true"
    if access.mirror:
        place = _mirrored(access.mirror, repository, revision) / LISTING
        if not place.is_file():
            raise UserError(
                f"{place}: missing; it says what the files of {repository} must be. Get it with: "
                f"curl '{access.endpoint}{where}' -o {LISTING}, or unset {MIRROR_VARIABLE}"
            )
    elif access.offline:
        raise _offline(repository, revision, access, "its files")
    else:
        place = work / "listing.part"
        place.unlink(missing_ok=True)
        remote = RemoteFile(f"listing of {repository}", access.endpoint + where, token=access.token)
        try:
            download(remote, place, patience=access.patience)
        except DownloadError as error:
            raise _refused(error, remote, repository, revision, access) from error
    return read_listing(place, repository, revision)


@dataclass(frozen=True, slots=True)
class _Fetcher:
    """Brings the files of one snapshot into one folder."""

    snapshot: Snapshot
    folder: Path
    access: Access
    report: Report

    def fetch_all(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        wanted = {file.name for file in self.snapshot.files}
        for path in self.folder.iterdir():
            if path.name not in wanted:
                path.unlink()
        missing = [file for file in self.snapshot.files if not self._is_whole(file)]
        if missing and not self.access.mirror:
            self._check_space(missing)
        for file in missing:
            self._fetch(file)

    def _is_whole(self, file: HubFile) -> bool:
        try:
            verify(self.folder / file.name, file.expected)
        except AlteredFile:
            return False
        return True

    def _fetch(self, file: HubFile) -> None:
        repository, revision = self.snapshot.repository, self.snapshot.revision
        access, part = self.access, self._part(file)
        if access.mirror:
            self._link(_mirrored(access.mirror, repository, revision) / file.name, file)
            return
        if access.offline:
            raise _offline(repository, revision, access, file.name)
        url = f"{access.endpoint}/{repository}/resolve/{revision}/{file.name}"
        remote = RemoteFile(file.name, url, file.expected, access.token)
        try:
            download(remote, part, report=self.report, patience=access.patience)
        except DownloadError as error:
            raise _refused(error, remote, repository, revision, access) from error
        except AlteredFile as error:
            raise UserError(
                f"{error}. It came from {url}, which does not serve the pinned file: set "
                f"{MIRROR_VARIABLE} to a folder with the original"
            ) from None
        part.replace(self.folder / file.name)

    def _part(self, file: HubFile) -> Path:
        return self.folder.parent / f"{file.name}.{self.snapshot.revision[:12]}.part"

    def _link(self, origin: Path, file: HubFile) -> None:
        try:
            verify(origin, file.expected)
        except AlteredFile as error:
            raise UserError(
                f"{error}. Put the file from {self.access.endpoint}/{self.snapshot.repository}"
                f"/resolve/{self.snapshot.revision}/{file.name} into the mirror, or unset "
                f"{MIRROR_VARIABLE} to download it"
            ) from None
        place = self.folder / file.name
        place.unlink(missing_ok=True)
        place.symlink_to(origin.resolve())

    def _check_space(self, missing: list[HubFile]) -> None:
        needed = sum(file.bytes or 0 for file in missing)
        parts = (self._part(file) for file in missing)
        needed -= sum(part.stat().st_size for part in parts if part.exists())
        free = shutil.disk_usage(self.folder).free
        if needed > free:
            raise UserError(
                f"{self.snapshot.repository}: {needed:,} bytes to download, but only {free:,} are "
                f"free in {self.folder}; make room"
            )


def _mirrored(mirror: Path, repository: str, revision: str) -> Path:
    return mirror / "models" / repository / revision


def _offline(repository: str, revision: str, access: Access, what: str) -> UserError:
    return UserError(
        f"{repository}: {what} at revision {revision} are not here, and offline "
        f"({OFFLINE_VARIABLE}). Fetch {access.endpoint}/{repository}/tree/{revision} into "
        f"models/{repository}/{revision}/ of a folder and set {MIRROR_VARIABLE} to that folder, or "
        f"unset {OFFLINE_VARIABLE}"
    )


def _refused(
    error: DownloadError, remote: RemoteFile, repository: str, revision: str, access: Access
) -> UserError:
    """The error of a refusal by the hub, with advice."""
    page = f"{access.endpoint}/{repository}"
    match error.status:
        case 401 if access.token is None:
            return UserError(
                f"{repository}: {access.endpoint} asks for an access token (401); the repository "
                f"is gated or private, or its name is wrong. Accept its terms at {page} and set "
                f"{TOKEN_VARIABLE} to a token that may read it"
            )
        case 401:
            return UserError(
                f"{repository}: {access.endpoint} does not accept the token in {TOKEN_VARIABLE} "
                f"(401); set a valid one, and check the repository's name"
            )
        case 403:
            return UserError(
                f"{repository}: access refused (403). Accept the terms at {page} and set "
                f"{TOKEN_VARIABLE} to a token of that account that may read it"
            )
        case 404:
            return UserError(
                f"{repository}: {remote.name} does not exist at revision {revision} of {page} "
                "(404); correct repository and revision in the study's base.models"
            )
        case _:
            return UserError(
                f"{remote.name}: download failed with {error.received:,} bytes received ({error}) "
                f"from {remote.url}. Check the network and run again to resume, set "
                f"{MIRROR_VARIABLE} to a folder with models/{repository}/{revision}/, or set "
                f"{ENDPOINT_VARIABLE} to a hub within reach"
            )
