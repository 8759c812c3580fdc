"""Any number of generated stories in a folder of files, each of which is made by itself."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

from pipeline.base.errors import UserError
from pipeline.config.sources import GeneratedSource
from pipeline.data.generated import stories
from pipeline.formats.files import file_digest, read_json, write_json, write_lines

STORIES = 5000
"""Stories in a file."""
DIGESTS = "SHA256SUMS"
ORIGIN = "source.json"


def begin(folder: Path, source: GeneratedSource, purpose: str, count: int) -> None:
    """Say in the folder what is written there.

    Raises:
        UserError: If it holds something else.
    """
    wanted = _origin(source, purpose, count)
    origin = folder / ORIGIN
    if not origin.exists():
        if folder.exists() and (folder.is_file() or any(folder.iterdir())):
            raise UserError(f"{folder} is not empty; name an empty or a new folder for stories")
        write_json(origin, wanted)
    elif (found := read_json(origin)) != wanted:
        different = ", ".join(key for key in wanted if found.get(key) != wanted[key])
        raise UserError(
            f"{origin}: the folder holds other stories ({different} differ); name another folder"
        )


def _origin(source: GeneratedSource, purpose: str, count: int) -> dict[str, Any]:
    spec = source.model_dump(mode="json", exclude={"train", "validation", "test", "pairs"})
    return {"source": spec, "purpose": purpose, "stories": count, "tomrl": version("tomrl")}


def write_part(
    folder: Path, source: GeneratedSource, purpose: str, count: int, part: int
) -> tuple[int, str]:
    """Write one file of the folder, unless it is there; its rows and its line of ``SHA256SUMS``."""
    path = folder / f"part-{part:06d}.jsonl"
    if not path.exists():
        first = part * STORIES
        told = stories(source, purpose, min(STORIES, count - first), first)
        write_lines(path, (dict(row) for rows in told for row in rows))
    with path.open("rb") as file:
        rows = sum(1 for _ in file)
    return rows, f"{file_digest(path)}  {path.name}\n"


def parts(count: int) -> int:
    """The number of files."""
    return -(-count // STORIES)
