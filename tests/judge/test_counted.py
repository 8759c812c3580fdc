"""Judging a file without keeping its texts says what judging all of it at once says."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random

import pytest

from pipeline.base.errors import UserError
from pipeline.config.sources import HiTomSource
from pipeline.data.generated import stories
from pipeline.evaluate.answers import open_answers, read_answers
from pipeline.judge import answers, counted
from pipeline.judge.counted import NEEDED, judge_file, processes_here
from pipeline.judge.items import items_of
from pipeline.judge.signatures import Reason, response_collapse, single_signatures
from pipeline.judge.verdict import judge
from pipeline.tasks import registry

TASK = registry.get("hi_tom")
STORIES = 40


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write answers to 200 questions, half of them in counterfactual pairs of two stories each."""
    random, rows = Random(0), []
    told = stories(HiTomSource(kind="hi_tom_style", agents=5), "test", STORIES)
    for number, row in enumerate(row for of_story in told for row in of_story):
        story, place = divmod(number, 5)
        answer = row["answer"] if random.random() < 0.6 else "red_box"
        rows.append(
            {key: row[key] for key in ("story", "question", "answer", "order")}
            | {"id": f"q{number}"}
            | {"response": f" {row['trace']}</think><answer>{answer}</answer>"}
            | ({"meta": {"pair": f"{story // 2}:{place}"}} if story < STORIES // 2 else {})
        )
    path = tmp_path_factory.mktemp("answers") / "responses.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def judged(file: Path, processes: int) -> str:
    found = judge_file(file, TASK, processes)
    signatures = single_signatures(found.items, found.reasons)
    collapse = response_collapse(counted.reasons_of(file, TASK), found.reasons)
    said = [each.as_json() for each in (*signatures, collapse)]
    return json.dumps([found.verdict.as_json(), said])


def at_once(file: Path) -> str:
    items = items_of((each.example, each.response) for each in read_answers(file, TASK, NEEDED))
    reasons = [Reason.of(item.response) for item in items]
    signatures = [*single_signatures(items), response_collapse(reasons, reasons)]
    return json.dumps([judge(items).as_json(), [each.as_json() for each in signatures]])


@pytest.mark.parametrize(("processes", "most"), [(1, 70), (2, answers.MOST_ITEMS)])
def test_the_verdict_is_that_on_all_texts_at_once(
    file: Path, processes: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "MOST_ITEMS", most)
    monkeypatch.setattr(counted, "_CHUNK", 30)
    assert judged(file, processes) == at_once(file)


@pytest.mark.parametrize(("most", "step"), [(70, 3), (100, 2), (200, 1)])
def test_a_verdict_on_many_is_on_every_nth_story_or_pair_of_stories(
    file: Path, monkeypatch: pytest.MonkeyPatch, most: int, step: int
) -> None:
    monkeypatch.setattr(answers, "MOST_ITEMS", most)
    examples = [each.example for each in read_answers(file, TASK, NEEDED)]
    story = [number // 5 for number in range(len(examples))]
    told = [
        n // 2 if n < STORIES // 2 else n - STORIES // 4 for n in story
    ]  # two of a pair are one
    expected = [place for place, number in enumerate(told) if number % step == 0]
    assert list(answers.sampled(examples)) == expected


def test_as_many_processes_count_as_processors_may_be_used() -> None:
    mine = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(mine)})
        assert processes_here() == 1
    finally:
        os.sched_setaffinity(0, mine)


def test_what_is_kept_of_a_response_has_no_texts(file: Path) -> None:
    for each in counted.count(*open_answers(file, TASK, NEEDED), 1):
        assert not each.item.response and not each.item.example.story


@pytest.mark.parametrize("processes", [1, 2])
def test_a_damaged_row_is_named_whoever_reads_it(
    file: Path, processes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted, "_CHUNK", 30)
    lines = file.read_text(encoding="utf-8").splitlines()
    lines[150] = json.dumps({**json.loads(lines[150]), "story": 5})
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(UserError, match="line 151: story must be text, found int"):
        judge_file(damaged, TASK, processes)


def test_an_id_must_not_occur_twice(file: Path, tmp_path: Path) -> None:
    twice = tmp_path / "twice.jsonl"
    line = file.read_text(encoding="utf-8").partition("\n")[0]
    twice.write_text(f"{line}\n{line}\n", encoding="utf-8")
    for read in (lambda: judge_file(twice, TASK), lambda: counted.reasons_of(twice, TASK)):
        with pytest.raises(UserError, match="the id 'q0' occurs twice"):
            read()
