"""Fetch upstream's files: from a mirror folder or by download, verified against their digests.

A download is resumed from its ``.part`` file, retried with exponential backoff, and only renamed
into place once size and sha256 are right. A mirror holds ``<mirror>/<source>/<file>``.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from pipeline.base.errors import UserError
from pipeline.data.sources import Source, SourceFile, get_source
from pipeline.formats.download import (
    DEFAULT_PATIENCE,
    AlteredFile,
    DownloadError,
    Expected,
    Patience,
    RemoteFile,
    Report,
    download,
    progress_bar,
)
from pipeline.formats.download import verify as verify_file

UNAVAILABLE = "UNAVAILABLE.txt"
"""A note in place of an optional source that could not be acquired."""


_UNAVAILABLE = (
    "The files of {source} could not be had when this folder was made. "
    "Try again with: dvc repro --force acquire@{source}\n"
)


class Unreachable(UserError):
    """A file is neither in the mirror nor available from its address."""


def acquire(
    source: str,
    target: Path,
    *,
    mirror: Path | None = None,
    known: Sequence[Path] = (),
    offline: bool = False,
    parts: Path | None = None,
    progress: bool = True,
    patience: Patience = DEFAULT_PATIENCE,
) -> list[Path]:
    """Bring every file of a source into a folder.

    Args:
        source: A key of ``SOURCES``.
        target: The folder for the files. Intact files are kept; others of the same name are
            replaced.
        mirror: A folder with one subfolder per source, in place of downloads.
        known: Folders that may hold intact files of this source, such as other studies'.
        parts: Folder of unfinished downloads; the target by default.

    Returns:
        The files, in the order of the table; none of an unavailable optional source, whose folder
        then holds ``UNAVAILABLE.txt`` with the reason.

    Raises:
        UserError: If a file is missing, truncated, altered or unavailable.
    """
    wanted, note = get_source(source), target / UNAVAILABLE
    with progress_bar(progress) as report:
        fetcher = _Fetcher(target, mirror, tuple(known), offline, parts or target, report, patience)
        try:
            files = fetcher.fetch_all(wanted)
        except Unreachable as error:
            if not wanted.optional:
                raise
            note.write_text(_UNAVAILABLE.format(source=source), encoding="utf-8")
            shown = Console(stderr=True, highlight=False, soft_wrap=True)
            shown.print(f"{source} is left out: {error}", markup=False)
            return []
        finally:
            with suppress(OSError):  # it is not empty where a download was begun
                fetcher.parts.rmdir()
    note.unlink(missing_ok=True)
    return files


def verify(path: Path, file: SourceFile) -> None:
    """Compare a file with its pinned size and digest; UserError if they differ."""
    verify_file(path, Expected(file.bytes, file.sha256), _described(file))


@dataclass(frozen=True, slots=True)
class _Fetcher:
    """Brings the files of one source into one folder."""

    target: Path
    mirror: Path | None
    known: tuple[Path, ...]
    offline: bool
    parts: Path
    report: Report
    patience: Patience

    def fetch_all(self, source: Source) -> list[Path]:
        self.target.mkdir(parents=True, exist_ok=True)
        self.parts.mkdir(parents=True, exist_ok=True)
        try:
            for file in source.files:
                if not _is_whole(self.target / file.name, file):
                    self._fetch(source, file)
        except OSError as error:
            raise UserError(f"{source.name}: {error}; check disk space and permissions") from error
        return [self.target / file.name for file in source.files]

    def _fetch(self, source: Source, file: SourceFile) -> None:
        whole = (folder / file.name for folder in self.known)
        if origin := next((path for path in whole if _is_whole(path, file)), None):
            self._take(origin, file)
        elif file.member:
            self._unpack_member(file)
        elif self.mirror is not None:
            self._copy(self.mirror / source.name / file.name, file)
        elif self.offline:
            raise Unreachable(
                f"{self.target / file.name}: not there or not as pinned, and offline; expected "
                f"{_described(file)}. Go online, or set TOMRL_DATA_MIRROR to a folder that "
                f"holds {source.name}/{file.name}"
            )
        else:
            self._place(self._download(file), file)

    def _copy(self, origin: Path, file: SourceFile) -> None:
        try:
            verify(origin, file)
        except UserError as error:
            raise (UserError if origin.is_file() else Unreachable)(
                f"{error}. Put the file from {file.url} into the mirror, or unset "
                f"TOMRL_DATA_MIRROR to download it"
            ) from None
        self._take(origin, file)

    def _take(self, origin: Path, file: SourceFile) -> None:
        copy = self.parts / f".{file.name}.copy"
        shutil.copyfile(origin, copy)
        self._place(copy, file)

    def _unpack_member(self, file: SourceFile) -> None:
        """Take a file out of its archive, which has its pinned digest."""
        archive = self.target / file.archive
        with tempfile.TemporaryDirectory(dir=self.parts, prefix=".unpack-") as scratch:
            shutil.unpack_archive(
                archive, scratch, filter=None if archive.suffix == ".zip" else "data"
            )
            found = [path for path in Path(scratch).rglob("*") if path.match(file.member)]
            if len(found) != 1:
                raise UserError(
                    f"{archive}: holds no file {file.member}; delete it and acquire again"
                )
            try:
                verify(found[0], file)
            except UserError as error:
                raise UserError(f"{error}. Delete {archive} and acquire again") from None
            self._place(found[0], file)

    def _place(self, path: Path, file: SourceFile) -> None:
        """Move a verified file into place; a copy first if the file systems differ."""
        scratch = self.target / f".{file.name}.new"
        shutil.move(path, scratch)
        scratch.replace(self.target / file.name)

    def _download(self, file: SourceFile) -> Path:
        part = self.parts / f"{file.name}.{(file.sha256 or 'unpinned')[:12]}.part"
        remote = RemoteFile(file.name, file.url, Expected(file.bytes, file.sha256))
        try:
            download(
                remote,
                part,
                report=self.report,
                patience=self.patience,
                described=_described(file),
            )
        except DownloadError as error:
            raise Unreachable(
                f"{file.name}: download failed with {error.received:,} bytes received "
                f"({error}); expected {_described(file)} from {file.url}. Check the "
                f"network and run again to resume, or set TOMRL_DATA_MIRROR"
            ) from error
        except AlteredFile as error:
            raise UserError(
                f"{error}. It came from {file.url}, which no longer serves the pinned file: "
                f"set TOMRL_DATA_MIRROR to a folder with the original"
            ) from None
        return part


def _is_whole(path: Path, file: SourceFile) -> bool:
    # A member without a digest of its own is taken from its archive again: that one is pinned.
    if file.sha256 is None:
        return False
    try:
        verify(path, file)
    except UserError:
        return False
    return True


def _described(file: SourceFile) -> str:
    return str(Expected(file.bytes, file.sha256)) or f"a member of {file.archive}"
