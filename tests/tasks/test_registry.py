"""One walk over every registered task, on the real upstream files and on generated ones.

Upstream files are read from the folder that the variable TOMRL_DATA_MIRROR names; a task whose
sources are not there is skipped by name.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from pydantic import TypeAdapter

from pipeline.config.sources import ArithmeticSource, GeneratedSource
from pipeline.data.generated import arithmetic, stories
from pipeline.data.sources import SOURCES
from pipeline.errors import UserError
from pipeline.files import write_lines
from pipeline.tasks.example import Example
from pipeline.tasks.registry import Task, all_tasks, get, register

# The scope makes pytest run all tests of a task in a row, so that each is loaded once.
EVERY_TASK = pytest.mark.parametrize(
    "task", all_tasks(), ids=lambda task: task.name, scope="module"
)
MEGABYTE = 1 << 20
STORIES = 20
GARBAGE = ("", "   ", "xyzzy", "{}", "<think>", "\x00", "😀" * 40, "?" * 5000, "\\boxed{")


@lru_cache(maxsize=1)
def examples_of(name: str) -> list[Example]:
    sources = [source for source in get(name).sources if source not in SOURCES]
    if sources:
        with TemporaryDirectory() as folder:
            for source in sources:
                generate(source, Path(folder) / source)
            return get(name).examples(Path(folder))
    mirror = os.environ.get("TOMRL_DATA_MIRROR")
    if not mirror:
        pytest.skip(f"{name}: TOMRL_DATA_MIRROR names no folder with the upstream files")
    for source in get(name).sources:
        if not (Path(mirror) / source).is_dir():
            pytest.skip(f"{name}: the mirror has no {source}")
    return get(name).examples(Path(mirror))


def generate(source: str, folder: Path) -> None:
    """Write a small generated source as the acquire stage does."""
    kind, _, telling = source.partition("_style_")
    sizes = {"train": STORIES, "test": STORIES}
    if source == "arithmetic":
        for split, count in sizes.items():
            write_lines(
                folder / f"{split}.jsonl",
                arithmetic(ArithmeticSource(kind=source, test=1), split, count),
            )
        return
    fields = {"kind": f"{kind}_style" if telling else source, "telling": telling or "benchmark"}
    settings = TypeAdapter(GeneratedSource).validate_python(fields)
    for split in (*sizes, "validation"):
        rows = (row for made in stories(settings, split, STORIES) for row in made)
        write_lines(folder / f"{split}.jsonl", rows)


def tagged(answer: str) -> str:
    return f"Let me see.</think><answer>{answer}</answer>"


def wrong(example: Example) -> str:
    """Return an answer of the right kind that is not the right one."""
    if example.answer_kind == "yes_no":
        return "no" if example.answer.lower() == "yes" else "yes"
    if example.answer_kind == "number":
        return f"{int(example.answer) + 1}"
    if example.answer_kind == "names" and example.meta["wrong_names"]:
        return str(example.meta["wrong_names"][0])
    if "wrong_answer" in example.meta and example.choices is None:
        return str(example.meta["wrong_answer"])
    others = [choice for choice in example.choices or () if choice != example.answer]
    return others[0] if others else "elsewhere"


@EVERY_TASK
def test_gold_is_correct(task: Task) -> None:
    for example in examples_of(task.name):
        grade = task.grade(tagged(example.answer), example)
        assert grade.correct and grade.strict and grade.format_ok, example


@EVERY_TASK
def test_anything_else_is_not(task: Task) -> None:
    examples = examples_of(task.name)
    for example in examples:
        grade = task.grade(tagged(wrong(example)), example)
        assert not grade.correct and not grade.strict, (example, wrong(example))
    for example in examples[:: max(1, len(examples) // 50)]:
        for answer in GARBAGE:
            for response in (answer, tagged(answer), f"<answer>{answer}"):
                grade = task.grade(response, example)
                assert not grade.correct and not grade.strict, (example, response)


@EVERY_TASK
def test_examples_are_well_formed(task: Task) -> None:
    examples = examples_of(task.name)
    assert len({example.id for example in examples}) == len(examples)
    for example in examples:
        assert example.task == task.name
        assert example.question.strip() and example.answer.strip()
        named = example.answer.split(", ") if example.answer_kind == "names" else [example.answer]
        assert example.choices is None or set(named) <= set(example.choices)
        json.dumps(dict(example.meta), allow_nan=False)


@EVERY_TASK
def test_a_hostile_megabyte_is_graded_at_once(task: Task) -> None:
    example = examples_of(task.name)[0]
    task.grade(tagged(r"\boxed{\frac{1}{2}}"), example)  # whatever loads late is loaded by now
    for unit in ("<answer>", "{", "no yes a. ", "\\boxed{1}", "\n\n:", "1,234.5 "):
        text = unit * (MEGABYTE // len(unit))
        for response in (text, tagged(text)):
            assert min(_seconds(task, response, example) for _ in range(2)) < 0.05, unit


def _seconds(task: Task, response: str, example: Example) -> float:
    start = time.process_time()
    task.grade(response, example)
    return time.process_time() - start


@EVERY_TASK
def test_task_is_complete(task: Task) -> None:
    # What the belief engine makes has no upstream, and no fixed number.
    assert set(task.sources) <= set(SOURCES) or task.count is None
    assert task.title and task.benchmark


def test_unknown_task_lists_those_there_are() -> None:
    with pytest.raises(UserError, match="unknown task 'nope'; there are: .*hi_tom"):
        get("nope")


def test_a_name_is_taken_once() -> None:
    with pytest.raises(ValueError, match="registered twice"):
        register(get("hi_tom"))


def yields(*examples: Example) -> Callable[[Path], tuple[Example, ...]]:
    return lambda raw: examples


def test_count_is_a_contract(tmp_path: Path) -> None:
    def always(answer: str, example: Example) -> bool:
        return True

    twin = Example("b", "t", "story", "question", "answer")
    task = Task("t", "b", "T", (), yields(twin, twin), always, always, count=2)
    first, second = task.examples(tmp_path)
    assert first.id != second.id and first.story_id == second.story_id
    short = Task("t", "b", "T", (), yields(twin), always, always, count=2)
    with pytest.raises(UserError, match="1 examples in .*upstream has 2"):
        short.examples(tmp_path)
