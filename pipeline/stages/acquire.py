"""Stage ``acquire@source``: verified upstream files, or generated rows, for one study."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipeline.config.lookup import lookup
from pipeline.config.sources import ArithmeticSource, HiTomSource, UpstreamSource
from pipeline.data.acquire import acquire
from pipeline.data.found import found_stories
from pipeline.data.generated import StoryRow, arithmetic, pairs, stories
from pipeline.formats.download import MIRROR_VARIABLE, OFFLINE_VARIABLE
from pipeline.formats.files import replacing, write_lines
from pipeline.stages.common import Stage, run


def main(stage: Stage, key: str) -> None:
    """Acquire one source."""
    source = lookup(stage.params.acquire, key, "source")
    target = stage.raw / key
    match source:
        case UpstreamSource():
            mirror = os.environ.get(MIRROR_VARIABLE)
            with replacing(target) as temporary:
                found = acquire(
                    key,
                    temporary,
                    mirror=Path(mirror) if mirror else None,
                    known=_of_other_studies(stage, key),
                    offline=os.environ.get(OFFLINE_VARIABLE, "") not in ("", "0"),
                    parts=stage.work(key),
                )
        case ArithmeticSource():
            with replacing(target) as temporary:
                temporary.mkdir()
                for purpose in ("train", "test"):
                    problems = arithmetic(source, purpose, getattr(source, purpose))
                    write_lines(temporary / f"{purpose}.jsonl", problems)
        case _:
            with replacing(target) as temporary:
                temporary.mkdir()
                tables: dict[str, Iterator[Sequence[StoryRow]]] = {
                    purpose: stories(source, purpose, getattr(source, purpose))
                    for purpose in ("train", "validation", "test")
                }
                tables["pairs"] = pairs(source)
                if isinstance(source, HiTomSource) and source.found:
                    tables["found"] = found_stories(stage.root, source, source.found)
                for name, made in tables.items():
                    rows = (row for questions in made for row in questions)
                    write_lines(temporary / f"{name}.jsonl", rows)
    left_out = isinstance(source, UpstreamSource) and not found
    print(f"{'left out' if left_out else 'acquired'} {key} in {target.relative_to(stage.root)}")


def _of_other_studies(stage: Stage, key: str) -> list[Path]:
    """Where other studies of this checkout keep the same upstream files."""
    folders = sorted((stage.root / "data").glob(f"*/raw/{key}"))
    return [folder for folder in folders if folder.parent != stage.raw]


if __name__ == "__main__":
    run("acquire", main)
