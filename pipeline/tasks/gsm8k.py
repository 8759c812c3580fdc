r"""GSM8K: grade-school arithmetic, the check that training does not cost other abilities.

Source: openai/grade-school-math:grade_school_math/data/{train,test}.jsonl. Study 1 asks for the
answer in ``\boxed{}``, without tags; the whole reply is graded unless there is a tagged answer. The
boxed expression, or else the last number, is compared with the gold one: plain amounts by
:mod:`pipeline.tasks.amount`, candidates by ``math_verify`` under a time limit; the rest, whose
evaluation may not end, is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from pipeline.tasks.amount import NUMBER, may_be_amount, read_amount, read_plain, spelled
from pipeline.tasks.comparison import equals
from pipeline.tasks.example import Example, content_hash
from pipeline.tasks.grading import extract_tagged_or_all
from pipeline.tasks.plain import undressed
from pipeline.tasks.reading import read_rows
from pipeline.tasks.registry import Task, register

_FINAL = "#### "
_BOXED = "\\boxed{"
_LONGEST_EXPRESSION = 200
_TAIL = 4096  # where the last number is looked for
# What is raised, as in "18 m^2", is no number of its own.
_NUMBER = re.compile(rf"(?<![A-Za-z0-9_.^])(?<!\^[-{{])(?<!\^{{-)[-+]?\$?{NUMBER}(?!\d)")
_SEVERAL = re.compile(r"\d[^\d.,]+\d")


def load(raw: Path, file: str, task: str) -> Iterator[Example]:
    for row in read_rows(raw / "gsm8k" / file):
        question, solution = row.text("question"), row.text("answer")
        yield Example(
            benchmark="gsm8k",
            task=task,
            story="",
            question=question,
            answer=solution.rpartition(_FINAL)[2].strip().replace(",", ""),
            answer_kind="number",
            meta={"solution": solution},
            # There is no story: every problem counts as one of its own.
            story_id=content_hash(question),
        )


def match_number(answer: str, example: Example) -> bool:
    """Compare the boxed expression, or else the last number, with the gold one."""
    expression = boxed(answer)
    if expression is None:
        expression = last_number(answer)
    if expression is None:
        return False
    amount, gold = read_amount(expression), read_amount(example.answer)
    if amount is not None and gold is not None:
        return amount == gold
    if match_number_only(answer, example):
        return True
    return may_be_amount(expression) and equals(expression, example.answer)


def match_number_only(answer: str, example: Example) -> bool:
    """The strict rule: the answer is only the number, boxed or not."""
    text = undressed(answer)
    inner = boxed(text)
    if inner is not None and len(text) == len(_BOXED) + len(inner) + 1:
        text = inner if inner.rstrip().endswith("!") else undressed(inner)  # a factorial
    if len(text) >= _LONGEST_EXPRESSION or _SEVERAL.search(text):
        return False  # "4 5" would read as 45
    amount = read_plain(text)
    return amount is not None and amount == read_plain(example.answer)


def boxed(text: str) -> str | None:
    r"""The content of the last ``\boxed{}``, or None unless it is short and closed."""
    start = text.rfind(_BOXED)
    if start < 0:
        return None
    start += len(_BOXED)
    depth = 1
    for offset, char in enumerate(text[start : start + _LONGEST_EXPRESSION]):
        depth += (char == "{") - (char == "}")
        if depth == 0:
            return text[start : start + offset]
    return None


def last_number(text: str) -> str | None:
    found = _NUMBER.findall(spelled(text[-_TAIL:]))
    return found[-1] if found else None


for _name, _file, _title, _count in (
    ("gsm8k", "test.jsonl", "GSM8K", 1319),
    ("gsm8k_train", "train.jsonl", "GSM8K (train)", 7473),
):
    register(
        Task(
            name=_name,
            benchmark="gsm8k",
            title=_title,
            sources=("gsm8k",),
            load=partial(load, file=_file, task=_name),
            match=match_number,
            strict=match_number_only,
            count=_count,
            fields=("solution",),
            mathematics=True,
            extract=extract_tagged_or_all,
        )
    )
