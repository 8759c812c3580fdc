"""Reading the final number of a solution, whatever it is wrapped in, and never hanging on it."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from pipeline.tasks.example import Example
from pipeline.tasks.gsm8k import boxed, last_number, match_number, match_number_only
from pipeline.tasks.registry import get

GOLD = Example("gsm8k", "gsm8k", "", "How many?", "1234", answer_kind="number")
EIGHTEEN = Example("gsm8k", "gsm8k", "", "How many?", "18", answer_kind="number")


@pytest.mark.parametrize(
    ("answer", "right", "strict"),
    [
        (r"\boxed{1234}", True, True),
        (r"So \boxed{1234} it is, not 5.", True, False),
        (r"\boxed{1,234}", True, True),
        (r"\boxed{1{,}234}", True, True),
        (r"\boxed{\$1,234.00}", True, True),
        (r"\boxed{1234\text{ dollars}}", True, False),
        (r"\boxed{\frac{2468}{2}}", True, False),
        (r"\boxed{1200 + 34}", True, False),
        (r"first \boxed{5}, no: \boxed{1234}", True, False),
        ("1234", True, True),
        ("$1,234", True, True),
        ("The answer is 1,234.", True, False),
        ("She has 5 and then **1234** eggs.", True, False),
        ("1234 eggs, or 5", False, False),
        ("12345", False, False),
        ("-1234", False, False),
        ("1234.5", False, False),
        ("1.234", False, False),
        (r"\boxed{}", False, False),
        (r"\boxed{x}", False, False),
        (r"\boxed{1233}", False, False),
        ("no number", False, False),
    ],
)
def test_number(answer: str, right: bool, strict: bool) -> None:
    assert match_number(answer, GOLD) is right
    assert match_number_only(answer, GOLD) is strict


def test_untagged_reply_is_graded_as_it_is() -> None:
    task = get("gsm8k")
    assert task.grade(r"16 - 3 - 4 = 9, and 9 * 2 = 18: \boxed{18}", EIGHTEEN).correct
    assert task.grade("9 * 2 = 18.", EIGHTEEN).correct
    assert not task.grade("18 <answer>17</answer>", EIGHTEEN).correct


def test_parts() -> None:
    assert boxed(r"a \boxed{\text{b {c}}} d") == r"\text{b {c}}"
    assert boxed(r"\boxed{open") is None
    assert last_number("2 or -3.50 or x4") == "-3.50"


@pytest.mark.parametrize(
    "answer",
    [
        r"\boxed{9^{9^{9^{9}}}}",
        r"\boxed{9**9**9**9}",
        r"\boxed{99999999!}",
        r"\boxed{99999999!x}",
        r"\boxed{1e999999999}",
        r"\boxed{\sum_{n=1}^{\infty} n}",
        r"\boxed{\binom{99999999}{5555555}}",
        r"\boxed{" + r"\frac{1}{" * 20 + "1" + "}" * 21,
        r"\boxed{" * 150_000,
        "\\boxed{" + "{" * 1_000_000,
        "1" * 1_000_000,
        "1," * 500_000,
        "1.1" * 300_000,
        "-" * 1_000_000,
    ],
    ids=lambda answer: answer[:24],
)
def test_hostile_numbers(answer: str) -> None:
    match_number(r"\boxed{\frac{1}{2}}", GOLD)  # the library is loaded by now
    start = time.process_time()
    assert not match_number(answer, GOLD)
    assert not match_number_only(answer, GOLD)
    assert time.process_time() - start < 0.05


def test_works_in_threads() -> None:
    with ThreadPoolExecutor(2) as pool:
        answers = [r"\boxed{\frac{36}{2}}", r"\boxed{18\text{ eggs}}"] * 5
        assert all(pool.map(match_number, answers, [EIGHTEEN] * 10))
