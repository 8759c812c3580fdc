"""A bundle: the results of a study in a folder, with a list of its files by digest.

Its files lie where a checkout has them. ``bundle.json`` lists them, and holds a digest of itself,
so that no byte of a bundle can change unnoticed; a signature of it covers them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Literal, Self

from pydantic import ValidationError, field_validator

from pipeline.base.errors import UserError
from pipeline.formats.files import digest_of, file_digest, folder_digests
from pipeline.formats.records import Record

NAME, SIGNATURE = "bundle.json", "bundle.json.sig"


class Bundle(Record):
    """The content of ``bundle.json``: what a bundle holds, and where that comes from.

    Attributes:
        version: Of this format.
        study: Name of the study.
        title: Its title.
        provenance: Commit, machines, times and versions of what made the results, as far as known.
        licences: The licences of the upstream data that the files quote, by source.
        files: The sha256 of every file.
        digest: Of all else.
    """

    version: Literal[1] = 1
    study: str
    title: str
    provenance: dict[str, str]
    licences: dict[str, list[str]]
    files: dict[str, str]
    digest: str = ""

    @field_validator("files")
    @classmethod
    def _inside(cls, files: dict[str, str]) -> dict[str, str]:
        for name in files:
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or path.as_posix() != name:
                raise ValueError(f"{name!r} is not a file of a bundle")
        return files

    @classmethod
    def of(cls, folder: Path, **known: object) -> Self:
        """List the files of a folder."""
        found = cls.model_validate({"files": folder_digests(folder), **known})
        return found.model_copy(update={"digest": found.own_digest()})

    def own_digest(self) -> str:
        """The digest of all that it holds beside one."""
        return digest_of(self.model_dump(exclude={"digest"}))

    @classmethod
    def read_in(cls, folder: Path) -> Self:
        """Read the list of a bundle.

        Raises:
            UserError: If it is missing, changed, or of another version.
        """
        path = folder / NAME
        try:
            data = path.read_bytes()
        except OSError as error:
            raise UserError(
                f"{path}: cannot be read ({error.strerror}); name a folder that tomrl publish wrote"
            ) from None
        try:
            found = cls.model_validate_json(data)
        except ValidationError as error:
            first = error.errors()[0]
            if first["loc"] == ("version",):
                raise UserError(
                    f"{path}: version: found {first['input']!r:.20}; this tomrl reads 1; "
                    "verify it with the tomrl that wrote it"
                ) from None
            raise UserError(f"{path} is not as it was published: {first['msg'][:200]}") from None
        if found.text().encode() != data or found.digest != found.own_digest():
            raise UserError(f"{path} is not as it was published: its own digest differs")
        return found


def changed_files(bundle: Bundle, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield every file of a bundle that is not as it was published, and what is wrong with it."""
    there = {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or not path.is_dir()
    }
    for name in sorted({*bundle.files, *there} - {NAME, SIGNATURE}):
        if name not in there:
            yield name, "is missing"
        elif name not in bundle.files:
            yield name, "is not in the list of files"
        elif there[name].is_symlink() or not there[name].is_file():
            yield name, "is not a regular file"
        elif file_digest(there[name]) != bundle.files[name]:
            yield name, "is not as it was published: its sha256 differs"
