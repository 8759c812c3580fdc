r"""GSM8K: grade-school arithmetic, the check that training does not cost other abilities.

Source: openai/grade-school-math:grade_school_math/data/{train,test}.jsonl. Study 1 asks for the
answer in ``\boxed{}``, without tags; the whole reply is graded unless there is a tagged answer. The
boxed expression, or else the last number, is compared with ``math_verify``. Its guard against
endless computation is a signal, which does not work in threads, so only short expressions of
plain arithmetic get that far.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from types import ModuleType

from pipeline.tasks.example import Example, content_hash
from pipeline.tasks.grading import extract_tagged_or_all
from pipeline.tasks.reading import Row, read_jsonl
from pipeline.tasks.registry import Task, register

_FINAL = "#### "
_BOXED = "\\boxed{"
_LONGEST_EXPRESSION = 200
_TAIL = 4096  # where the last number is looked for
_NUMBER = re.compile(r"(?<![\w.])[-+]?\$?(?:\d{1,3}(?:,\d{3}){1,20}|\d{1,60})(?:\.\d{1,60})?(?!\d)")
_PLAIN = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3}){1,20}|\d{1,60})(?:\.\d{1,60})?")
_DECORATION = str.maketrans("", "", "\\$ \t\n*`{}")
# What a boxed amount is made of. Powers, factorials and functions are left out: their value can
# take longer to compute than the universe lasts.
_OTHER_COMMAND = re.compile(
    r"\\(?!(?:[dt]?frac|text(?:bf|it)?|math(?:rm|bf)|left|right|times|cdot|div)\b)[A-Za-z]"
)
_TOO_POWERFUL = re.compile(r"\^|\*\s*\*|!|\d\s*[eE]\s*\+?\s*\d")


def load(raw: Path, file: str, task: str) -> Iterator[Example]:
    """Yield the problems of one file with their final numbers."""
    for row in read_jsonl(raw / "gsm8k" / file):
        question, solution = row.text("question"), row.text("answer")
        yield Example(
            benchmark="gsm8k",
            task=task,
            story="",
            question=question,
            answer=_final_number(row, solution),
            answer_kind="number",
            meta={"solution": solution},
            # There is no story: every problem counts as one of its own.
            story_id=content_hash(question),
        )


def _final_number(row: Row, solution: str) -> str:
    _, marker, final = solution.rpartition(_FINAL)
    number = final.strip().replace(",", "")
    if not marker or not _PLAIN.fullmatch(number):
        row.fail(f"its answer does not end with {_FINAL!r} and a number")
    return number


def match_number(answer: str, example: Example) -> bool:
    """Compare the boxed expression, or else the last number, with the gold one."""
    expression = boxed(answer)
    if expression is None:
        expression = last_number(answer)
    if expression is None:
        return False
    plain = expression.translate(_DECORATION).removesuffix(".")
    if _PLAIN.fullmatch(plain):
        return _value(plain) == _value(example.answer)
    return _is_arithmetic(expression) and _verify(expression, example.answer)


def match_number_only(answer: str, example: Example) -> bool:
    """The strict rule: the answer is the number, boxed or not, and nothing else."""
    text = answer.strip()
    inner = boxed(text)
    if inner is not None and len(text) == len(_BOXED) + len(inner) + 1:
        text = inner
    plain = text[:_LONGEST_EXPRESSION].translate(_DECORATION)
    return len(text) < _LONGEST_EXPRESSION and (
        _PLAIN.fullmatch(plain) is not None and _value(plain) == _value(example.answer)
    )


def boxed(text: str) -> str | None:
    r"""Return what the last ``\boxed{}`` holds, or None without a short, closed one."""
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
    """Return the last number of a text."""
    found = _NUMBER.findall(text[-_TAIL:])
    return found[-1] if found else None


def _value(number: str) -> Decimal:
    return Decimal(number.replace(",", ""))


def _is_arithmetic(expression: str) -> bool:
    unsafe = _OTHER_COMMAND.search(expression) or _TOO_POWERFUL.search(expression)
    return not unsafe and expression.count("{") < 12


def _verify(expression: str, truth: str) -> bool:
    library = _math_verify()
    found = library.parse(_BOXED + expression + "}", parsing_timeout=None)
    gold = library.parse(_BOXED + truth + "}", parsing_timeout=None)
    return bool(found) and bool(library.verify(gold, found, timeout_seconds=None))


@cache
def _math_verify() -> ModuleType:
    import math_verify  # type: ignore[import-untyped]

    # It warns once that its timeouts are off, which is on purpose.
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    library: ModuleType = math_verify
    return library


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
            extract=extract_tagged_or_all,
        )
    )
