"""Reading the final number of a solution, whatever it is wrapped in, and never hanging on it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from pipeline.tasks import math_worker
from pipeline.tasks.amount import read_amount
from pipeline.tasks.example import Example
from pipeline.tasks.gsm8k import boxed, last_number, match_number, match_number_only
from pipeline.tasks.registry import get
from tests.corpus.answers import WRONG

GOLD = Example("gsm8k", "gsm8k", "", "How many?", "1234", answer_kind="number")
EIGHTEEN = Example("gsm8k", "gsm8k", "", "How many?", "18", answer_kind="number")


def test_untagged_reply_is_graded_as_it_is() -> None:
    task = get("gsm8k")
    assert task.grade(r"16 - 3 - 4 = 9, and 9 * 2 = 18: \boxed{18}", EIGHTEEN).correct
    assert task.grade("9 * 2 = 18.", EIGHTEEN).correct
    assert not task.grade("18 <answer>17</answer>", EIGHTEEN).correct


def test_parts() -> None:
    assert boxed(r"a \boxed{\text{b {c}}} d") == r"\text{b {c}}"
    assert boxed(r"\boxed{open") is None
    assert last_number("2 or -3.50 or x4") == "-3.50"


def test_arithmetic_is_read_as_the_library_reads_it() -> None:
    """What the strict reading computes is what math-verify, asked directly, finds as well."""
    expressions = [
        r"2 + 3 \times 4",
        "12 / 4 / 3",
        r"2 - 3 + 4 \div 2 \cdot 3",
        r"\frac{3}{4} - \frac{1}{2}",
        r"\frac{2 + 4}{3 - 1}",
        "-(2 + 3)",
        r"[3 - 5] \times 1.5",
        r"y = \left(7 - 4\right)",
        r"7\text{ (of 8)}",
    ]
    for expression in expressions:
        value = read_amount(expression)
        if value is not None:
            assert math_worker.is_right(expression, str(value)), expression
            assert not math_worker.is_right(expression, str(value + 1)), expression
    assert sum(read_amount(expression) is not None for expression in expressions) == 8


EXCEPTIONS = [r"\geq 1234", r"1234\text{ million}"]


def test_what_the_library_accepts_is_right() -> None:
    """But for a bound, which is no number, and for millions, which it takes for a unit."""
    wrong = [inner for answer in WRONG["number"] if (inner := boxed(answer))]
    assert [each for each in wrong if math_worker.is_right(each, "1234")] == EXCEPTIONS


FACTORS = "".join(
    f"({pair[0]}+{pair[1]})" for pair in zip("abcdefghijk", "lmnopqrstuv", strict=True)
)
HOSTILE = [
    r"\boxed{9^{9^{9^{9}}}}",
    r"\boxed{9**9**9**9}",
    r"\boxed{99999999!}",
    r"\boxed{99999999!x}",
    r"\boxed{1e999999999}",
    r"\boxed{\sum_{n=1}^{\infty} n}",
    r"\boxed{\binom{99999999}{5555555}}",
    r"\boxed{" + r"\frac{1}{" * 20 + "1" + "}" * 21,
    rf"\boxed{{{FACTORS}}}",
    r"\boxed{" + "(" * 60 + "1" + ")" * 60 + "}",
    r"\boxed{" + "{" * 60 + "1" + "}" * 60 + "}",
    r"\boxed{" + "|x" * 90 + "}",
    r"\boxed{" + "-" * 190 + "}",
    r"\boxed{" + "3.5." * 45 + "}",
    r"\boxed{" + "1/" * 95 + "}",
    r"\boxed{" + "x=" * 95 + "}",
    r"\boxed{" * 150_000,
    "\\boxed{" + "{" * 1_000_000,
    "1" * 1_000_000,
    "1," * 500_000,
    "1.1" * 300_000,
    "-" * 1_000_000,
]


@pytest.mark.parametrize("answer", HOSTILE, ids=lambda answer: answer[:24])
def test_hostile_answers_are_refused_at_once(answer: str) -> None:
    start = time.process_time()
    assert not match_number(answer, GOLD)
    assert not match_number_only(answer, GOLD)
    assert time.process_time() - start < 0.05


def is_quick(seconds: float, work: Callable[[], object]) -> bool:
    """Whether work is done in time, once of four times: other work may run beside it."""
    for _ in range(4):
        start = time.perf_counter()
        work()
        if time.perf_counter() - start < seconds:
            return True
    return False


PIECES = [
    *("1", "12", "3.5", "1,000", "+", "-", "*", "/", "(", ")", "[", "]", "{", "}", "=", ","),
    *(r"\times ", r"\cdot ", r"\div ", r"\frac{1}{2}", r"\frac", r"\left(", r"\right)", ".", " "),
    *(r"\text{ a}", "x", "ab", "x=", "%", r"\%", "$", r"\$", "|", "^", "!", "_", "&", ";", "~"),
    *("\n", "\0", "\x1b[2J", "\ud800", "é", "٣", "²", "<", ">", "<1/2>", r"\boxed{", "e9"),
    *("9" * 70, "or", "and", "inf", "i"),
]


def hostile(draw: random.Random) -> str:
    """An answer that no one would give: pieces at random, or a few over and over."""
    pieces = [draw.choice(PIECES) for _ in range(draw.randint(1, 60))]
    text = "".join(pieces) if draw.random() < 0.5 else "".join(pieces[:4]) * draw.randint(1, 60)
    return rf"\boxed{{{text}}}" if draw.random() < 0.9 else text


def test_no_hostile_answer_takes_a_second() -> None:
    draw, task = random.Random(20), get("gsm8k")
    task.grade(r"\boxed{18 miles}", EIGHTEEN)  # the worker runs by now
    for answer in (hostile(draw) for _ in range(20_000)):
        assert is_quick(1, partial(task.grade, answer, EIGHTEEN)), answer


def test_every_published_answer_is_right(mirror: Path) -> None:
    for name in ("gsm8k", "gsm8k_train"):
        task = get(name)
        for example in task.examples(mirror):
            number = example.answer
            for answer in (number, rf"\boxed{{{number}}}", rf"\boxed{{\${int(number):,}.00}}"):
                grade = task.grade(f"So the answer is {answer}.", example)
                assert grade.correct and not grade.too_late, (answer, example)
