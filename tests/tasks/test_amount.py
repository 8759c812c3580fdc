"""Amounts read strictly, and what is worth asking the library about."""

from __future__ import annotations

from fractions import Fraction

import pytest

from pipeline.tasks.amount import may_be_amount, read_amount, read_plain


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("18", 18),
        ("18.", 18),
        (r"\$1,234.50", "2469/2"),
        ("**5**", 5),
        (r"50\%", 50),
        ("50 percent", 50),
        ("x = 2(4 + 5)", None),
        (r"x = 2 \times (4 + 5)", 18),
        (r"\text{Total cost} = 7", 7),
        (r"\text{Total 2} = 7", None),  # no name
        ("3 + 4 = 7", 7),
        ("3 + = 7", None),
        ("= 7", None),
        (r"18\text{ eggs}", 18),
        (r"18\text{ of 20}", None),
        (r"\frac{36}{8}", "9/2"),
        (r"-\frac{1}{2} + 1", "1/2"),
        (r"\frac{1}{0}", None),
        (r"\frac{x}{2}", None),
        (r"\frac{2}{x}", None),
        (r"\text{3} + [4 - (2 - 5)]", 10),
        ("((((1))))", 1),  # four within each other
        ("(((((1)))))", None),
        (r"\left(2\right) \cdot 3", 6),
        ("8 / 4 / 2", 1),
        (r"8 \div 4 * 3 - 2 * 2 + 1", 3),
        (r"-2 - 3 \times 4", -14),
        ("5 / 0", None),
        ("", None),
        ("()", None),
        ("<1/2>", None),
        ("1,23", "123/100"),
        ("2.5 million", 2500000),
        (r"\$2.5\text{ million dollars}", 2500000),
        ("9*2", 18),  # and not 92
        ("1 8", None),
        (r"1\,8", None),
        (r"18\text{ }19", None),
        (r"\displaystyle 0.5", "1/2"),
        (r"\left.\frac12\right.", "1/2"),
        (r"\frac{36}2\%", 18),
        (r"36 \times 50\%", None),
        (r"|2 - \frac{1}{2} - 3|", "3/2"),
        (r"18 = x", 18),
        ("10^3", 1000),
        (r"{3 \over 4}", "3/4"),
    ],
)
def test_read_amount(text: str, value: int | str | None) -> None:
    assert read_amount(text) == (None if value is None else Fraction(value))


def test_read_plain() -> None:
    assert read_plain(r"\$1,234") == 1234 and read_plain("-3.50") == Fraction(-7, 2)
    assert read_plain("3x") is read_plain("") is None


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("18 miles", True),
        ("n = 18 miles", True),
        ("(3 + 4) cm", True),
        (r"\frac{3}{4} cups", True),
        (r"\frac34", True),
        (r"3 \times 4\text{ square (or so) metres}", True),
        (r"\frac{3}{4} + (1)", False),  # a fraction and a bracket
        ("(3) + (4)", False),
        ("(3", False),
        ("3)", False),
        ("2 ** 3", False),
        (r"\sqrt{3}", True),
        (r"\log 3", False),
        ("miles", False),
        ("3!", False),
        ("3 miles and 4 feet", False),
        ("1" * 60, True),
        ("1" * 61, False),
    ],
)
def test_what_may_be_an_amount(text: str, may: bool) -> None:
    assert may_be_amount(text) is may
