"""Stories in files that are made one by one: which they are, and what a second run does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.base.errors import UserError
from pipeline.config.sources import ExploreTomSource, FantomSource, GeneratedSource, HiTomSource
from pipeline.data import parts
from pipeline.data.generated import stories

SOURCES: tuple[GeneratedSource, ...] = (
    HiTomSource(kind="hi_tom_style", structures="apart"),
    ExploreTomSource(kind="explore_tom_style"),
    FantomSource(kind="fantom_style"),
)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "STORIES", 4)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.kind)
def test_together_they_are_those_of_a_study(source: GeneratedSource, tmp_path: Path) -> None:
    parts.begin(tmp_path, source, "train", 10)
    made = [parts.write_part(tmp_path, source, "train", 10, n) for n in range(parts.parts(10))]
    files = sorted(tmp_path.glob("part-*"))
    told = [json.loads(line) for file in files for line in file.open(encoding="utf-8")]
    assert told == [row for rows in stories(source, "train", 10) for row in rows]
    assert [rows for rows, _ in made] == [len(file.read_text().splitlines()) for file in files]
    assert [line.split()[1] for _, line in made] == [file.name for file in files]


def test_what_is_there_is_kept_and_other_stories_are_refused(tmp_path: Path) -> None:
    source = SOURCES[0]
    folder = tmp_path / "many"
    parts.begin(folder, source, "train", 8)
    first = parts.write_part(folder, source, "train", 8, 0)
    before = (folder / "part-000000.jsonl").stat().st_mtime_ns
    parts.begin(folder, source, "train", 8)
    assert parts.write_part(folder, source, "train", 8, 0) == first
    assert (folder / "part-000000.jsonl").stat().st_mtime_ns == before
    for purpose, count, what in (("train", 9, "stories"), ("test", 8, "purpose")):
        with pytest.raises(UserError, match=rf"other stories \({what} differ"):
            parts.begin(folder, source, purpose, count)
    (tmp_path / "mine.txt").touch()
    with pytest.raises(UserError, match="not empty"):
        parts.begin(tmp_path, source, "train", 8)
