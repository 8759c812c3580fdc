"""Every table reads the same through every door, or is refused by name through every door."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from pipeline.base.errors import UserError
from pipeline.cli.reward import read_completions
from pipeline.cli.rows import read_stories
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.answers import read_answers
from pipeline.evaluate.engine import Prompt
from pipeline.evaluate.replay_engine import ReplayEngine
from pipeline.formats.files import file_digest
from pipeline.reward.presets import load_preset
from pipeline.tasks import registry
from tests.corpus.tables import READ, REFUSED, ROWS

Read = list[dict[str, Any]]


def _judged(path: Path) -> Read:
    needed = ("story", "question", "answer", "response")
    return [
        {
            "id": each.id,
            "answer": each.example.answer,
            "order": each.example.order,
            "response": each.response,
        }
        for each in read_answers(path, registry.get("hi_tom"), needed)
    ]


def _rewarded(path: Path) -> Read:
    rows = read_completions(path, "hi_tom", load_preset("fidelity", {}))
    return [
        {"answer": example.answer, "order": example.order, "response": said}
        for said, example in rows
    ]


def _claimed(path: Path) -> Read:
    rows = read_stories(path, "story", "question", "response")
    return [{"id": row["id"], "response": row["response"]} for _, row in rows]


def _replayed(path: Path) -> Read:
    asked = [Prompt((), (0,), question=row["id"]) for row in ROWS]
    engine = ReplayEngine(path, file_digest(path))
    said = engine.complete(asked, Sampling(10), lambda _: None)
    return [
        {"id": row["id"], "response": found.text} for row, found in zip(ROWS, said, strict=True)
    ]


DOORS: Mapping[str, Callable[[Path], Read]] = {
    "judge, regrade": _judged,
    "reward": _rewarded,
    "claims": _claimed,
    "recorded model": _replayed,
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("form", READ)
def test_a_table_reads_the_same_in_any_form(form: str, door: str, tmp_path: Path) -> None:
    ending, content = READ[form]
    path = tmp_path / f"an answer 表{ending}"
    path.write_bytes(content())
    found = DOORS[door](path)
    assert found == [{name: row[name] for name in found[0]} for row in ROWS]


_UNREAD = {"claims": ("an order",), "recorded model": ("an order", "choices"), "reward": ("an id",)}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("form", REFUSED)
def test_what_can_be_read_in_two_ways_is_refused(form: str, door: str, tmp_path: Path) -> None:
    ending, content, said = REFUSED[form]
    path = tmp_path / f"answers{ending}"
    path.write_bytes(content)
    if form.startswith(_UNREAD.get(door, ())):
        DOORS[door](path)
        return
    with pytest.raises(UserError) as refused:
        DOORS[door](path)
    assert str(path) in str(refused.value)
    assert re.search(said, str(refused.value)), refused.value
