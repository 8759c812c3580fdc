"""One walk over every registered task, on the real upstream files and on generated ones.

Upstream files are read from the folder that the variable TOMRL_DATA_MIRROR names; a task whose
sources are not there is skipped by name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from pydantic import TypeAdapter

from pipeline.audit.cheats import CHEATS, Constants, respond
from pipeline.base.errors import UserError
from pipeline.base.plugins import REWARDS
from pipeline.cli.reward import read_completions
from pipeline.config.sources import ArithmeticSource, GeneratedSource
from pipeline.data.generated import arithmetic, pairs, stories
from pipeline.data.sources import SOURCES
from pipeline.formats.files import write_lines
from pipeline.reward.presets import load_preset, reward
from pipeline.rules.reading import read_all
from pipeline.tasks.example import Example
from pipeline.tasks.plain import split_letter
from pipeline.tasks.registry import Task, all_tasks, get, register
from tests.made_answers import DISGUISES

# The scope makes pytest run all tests of a task in a row, so that each is loaded once.
EVERY_TASK = pytest.mark.parametrize(
    "task", all_tasks(), ids=lambda task: task.name, scope="module"
)
STORIES = 20
MADE = TemporaryDirectory()
"""Receives each generated source once."""
GARBAGE = ("", "   ", "xyzzy", "{}", "<think>", "\x00", "😀" * 40, "?" * 5000, "\\boxed{")


@lru_cache(maxsize=1)
def examples_of(name: str) -> list[Example]:
    sources = [source for source in get(name).sources if source not in SOURCES]
    if sources:
        for source in sources:
            generated(source)
        return get(name).examples(Path(MADE.name))
    mirror = os.environ.get("TOMRL_DATA_MIRROR")
    if not mirror:
        pytest.skip(f"{name}: TOMRL_DATA_MIRROR names no folder with the upstream files")
    for source in get(name).sources:
        if not (Path(mirror) / source).is_dir():
            pytest.skip(f"{name}: the mirror has no {source}")
    return get(name).examples(Path(mirror))


@cache
def generated(source: str) -> None:
    """Write a small generated source as the acquire stage does."""
    folder = Path(MADE.name) / source
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
    for split in (*sizes, "validation", "found"):
        rows = (row for made in stories(settings, split, STORIES) for row in made)
        write_lines(folder / f"{split}.jsonl", rows)
    twins = pairs(settings.model_copy(update={"pairs": STORIES}))
    write_lines(folder / "pairs.jsonl", (row for made in twins for row in made))


def tagged(answer: str) -> str:
    return f"Let me see.</think><answer>{answer}</answer>"


def wrong(example: Example) -> str:
    """An answer of the right kind that is not the right one."""
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
    for example in spread(examples, 50):
        for answer in GARBAGE:
            for response in (answer, tagged(answer), f"<answer>{answer}"):
                grade = task.grade(response, example)
                assert not grade.correct and not grade.strict, (example, response)


@EVERY_TASK
def test_no_strict_reward_pays_a_cheat_more_than_a_wrong_answer(task: Task) -> None:
    examples = examples_of(task.name)
    presets = [preset for preset in map(load_preset, REWARDS) if not preset.lenient]
    constants = searched(examples)
    for reading in read_all(spread(examples, 30)):
        example = reading.example
        cheats = {name: cheat(reading) for name, cheat in CHEATS.items()}
        cheats |= {name: disguise(example.answer) for name, disguise in DISGUISES.items()}
        cheats |= {f"constant {text}": respond(text) for text in constants}
        for preset in presets:
            floor = reward(preset, tagged(wrong(example)), example).score
            for name, response in cheats.items():
                paid = floor if response is None else reward(preset, response, example).score
                assert paid <= floor, (type(preset).__name__, name, response, example)


@EVERY_TASK
def test_rows_of_a_file_are_graded_as_examples_are(task: Task, tmp_path: Path) -> None:
    examples, preset = spread(examples_of(task.name), 20), load_preset("rlvr")
    rows = [as_row(example) for example in examples]
    write_lines(tmp_path / "rows.jsonl", rows)
    for (response, read), example in zip(
        read_completions(tmp_path / "rows.jsonl", "hi_tom", preset), examples, strict=True
    ):
        assert replace(read, id=example.id, story_id=example.story_id) == example
        assert reward(preset, response, read).score == 1.1
    for name in task.reads(examples[0]):
        section, _, inner = name.rpartition(".")
        row = {key: dict(value) if key == "meta" else value for key, value in rows[0].items()}
        del (row[section] if section else row)[inner]
        write_lines(tmp_path / "row.jsonl", [row])
        with pytest.raises(UserError, match=f"row.jsonl, line 1: the field '{name}' is missing"):
            list(read_completions(tmp_path / "row.jsonl", "hi_tom", preset))


def as_row(example: Example) -> dict[str, Any]:
    """The line of a file that holds an example with its gold answer as the completion."""
    row = {field.name: getattr(example, field.name) for field in fields(example)}
    own = {"completion": tagged(example.answer), "ground_truth": row.pop("answer")}
    return {**row, **own, "choices": None if row["choices"] is None else list(row["choices"])}


def searched(examples: list[Example]) -> list[str]:
    """The best constants that are no answer, with a letter or without; strictly, none wins."""
    constants = Constants.tried_on(spread(examples, 60))
    best = {constants.best(strict=False), constants.best(strict=True)}
    answers = set(map(undressed, constants.parts))
    for text, (_, strictly) in constants.tried.items():
        assert not strictly or undressed(text) in answers, text
    return sorted(text for text in best if undressed(text) not in answers)


def undressed(text: str) -> str:
    """A text without the letters of options that it begins with, where it is more than they."""
    letter, said = split_letter(text)
    return text if letter is None else undressed(said)


def spread(examples: list[Example], count: int) -> list[Example]:
    return examples[:: max(1, len(examples) // count)]


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
def test_task_is_complete(task: Task) -> None:
    # What the belief engine makes has no upstream, and no fixed number.
    assert set(task.sources) <= set(SOURCES) or task.count is None
    assert task.title and task.benchmark


@EVERY_TASK
def test_a_task_says_which_rows_can_be_chosen(task: Task) -> None:
    examples = examples_of(task.name)
    assert {example.order for example in examples} - {None} <= set(task.orders)
    assert all(set(task.fields) <= set(example.meta) for example in examples)


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
