"""Stories that a search has found, as a source to train on."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from benchmarks.taught import SOURCE
from pipeline.base.errors import UserError
from pipeline.config.sources import FoundStories, HiTomSource
from pipeline.data.found import found_stories
from pipeline.data.generated import StoryRow, fold_of, stories
from pipeline.evaluate.attack import attack


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = attack(lambda asked: [(False, None) for _ in asked], SOURCE, 30, 90, 1)
    path = tmp_path / "found.jsonl"
    path.write_text("".join(json.dumps(each.row()) + "\n" for each in found.kept))
    return path


def read(path: Path, digest: str | None = None, source: HiTomSource = SOURCE) -> list[StoryRow]:
    pinned = FoundStories(file=path.name, sha256=digest or sha256(path.read_bytes()).hexdigest())
    return [row for rows in found_stories(path.parent, source, pinned) for row in rows]


def test_they_are_rows_like_all_others_and_of_no_test_structure(file: Path) -> None:
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    everything = read(file, source=SOURCE.model_copy(update={"structures": "any"}))
    assert [(r["story"], r["question"], r["answer"]) for r in everything] == [
        (line["story"], line["question"], line["answer"]) for line in lines
    ]
    usual = next(iter(stories(SOURCE, "train", 1)))[1]
    assert all(set(row) == set(usual) and row["trace"] for row in everything)
    kept = read(file)
    assert kept == [row for row in everything if fold_of(row["structure"]) == "train"]
    assert 0 < len(kept) < len(everything)


def test_another_file_a_wrong_answer_and_none_are_refused(file: Path) -> None:
    with pytest.raises(UserError, match=r"found.sha256: found.jsonl has \w+, not 0000"):
        read(file, "0" * 64)
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0], lines[1].replace('"answer": "', '"answer": "un')]))
    with pytest.raises(UserError, match=r"found.jsonl, line 2: the story implies \w+, not un"):
        read(file)
    file.write_text("[]\n")
    with pytest.raises(UserError, match="line 1"):
        read(file)
    file.unlink()
    with pytest.raises(UserError, match="there is no found.jsonl; tomrl attack writes it"):
        read(file, "0" * 64)
