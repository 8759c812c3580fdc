r"""Strict, linear-time parsing of amounts.

``18``, ``\$1,234.00``, ``50\%``, ``18\text{ eggs}``, ``\frac{36}{2}``, ``x = 2 + (4 - 5)``: numbers
with their currency and their unit, and plain arithmetic on them. Pure TeX layout
(``\displaystyle``, ``\!``, ``\phantom{0}``, ``\mathrm``) is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from unicodedata import numeric

from pipeline.tasks.plain import without_invisible

NUMBER = r"(?:\d{1,3}(?:,\d{3}){1,20}|\d{1,60})(?:\.\d{1,60})?"
"""A number, perhaps with commas between thousands; bounded in length."""

_PLAIN = re.compile(rf"[-+]?{NUMBER}")
_CURRENCIES = str.maketrans("", "", "€£¥₹")
_DECORATION = str.maketrans("", "", "\\$`{}")
_SIGN = re.compile(r"^([-+])\s+")
_THOUSANDS = re.compile(r"\s*,\s*(?=\d{3})")
_AROUND = " \t\n*\"'`´“”„"
_AFTER = f".,;:?…{_AROUND}"
_SPACE = r"\s*"
_TEXT = (
    r"\\(?:text(?:bf|it|rm|sf|tt|sl|sc|up|md|normal)?|math(?:rm|bf|it|sf|tt|normal)|[mfh]box"
    r"|boldsymbol|bm|emph|underline|operatorname|ensuremath)"
)
_SYMBOL = r"[A-Za-z](?:_(?:[A-Za-z0-9]|\{[A-Za-z0-9]{1,10}\}))?"
_NAME = re.compile(
    rf"\s*(?:{_SYMBOL}(?:\([A-Za-z]\)|(?:\s*[-+]\s*{_SYMBOL}){{1,3}})?"
    rf"|{_TEXT}\{{[A-Za-z ]{{1,30}}\}})\s*"
)
_UNIT = re.compile(rf"(?:{_TEXT}\{{[^{{}}\\\d]*\}}\s*)+$")
_SQUARE = re.compile(r"(?<=[A-Za-z}])\s*\^\s*\{?-?[1-3]\}?\s*$")
_DEGREES = re.compile(r"(?:\^\s*\{?\s*\\circ\s*\}?|°|\\deg(?:ree)?(?![A-Za-z]))(?:\s*[CF]$)?")
_ABOUT = re.compile(
    r"^(?:[A-Za-z]\s*)?"
    r"(?:\\(?:approx|sim(?:eq)?|cong|equiv|therefore|implies|Rightarrow|to)(?![A-Za-z])|≈|~)\s*"
)
_EXACTLY = re.compile(r"(?:\\pm(?![A-Za-z])|±)\s*0(?:\.0*)?\s*$")
# TeX that changes nothing, that is a space, a sign of money, or another way to write something.
_NOTHING = re.compile(
    r"\\!|\\(?:[hv]?phantom|(?:text)?color)\s*\{[^{}]*\}|\\(?:left|right)\s*\."
    r"|\\(?:(?:display|text|script|scriptscript)style|(?:math)?strut|limits|hfill|newline|checkmark"
    r"|tiny|small|normalsize|large|Large|LARGE|huge|Huge|bf|rm|it|sf|tt|[lr]?dots"
    r"|[bB]igg?[lr]?(?=\s*[()\[\]|]))(?![A-Za-z])\s*"
)
_BLANK = re.compile(
    r"\\[ ,;:>\\]|~|\\(?:q?quad|(?:thin|med|thick|en)space)(?![A-Za-z])|\\[hm]space\*?\{[^{}]*\}"
)
_DOLLARS = re.compile(r"\\(?:\$|(?:text|math)dollar(?![A-Za-z]))")
_MONEY = re.compile(r"\\(?:pounds|(?:text)?euro)(?![A-Za-z])")
_MARK = re.compile(rf"(?:{_TEXT})?\{{\s*((?:\\?%|[-+$.,€£¥₹])?)\s*\}}")
_BAR = re.compile(r"\\(?:left|right)\s*\||\\[lr]?vert(?![A-Za-z])")
_OVER = re.compile(r"\\over(?![A-Za-z])")
_DIGITS = re.compile(r"\\[dtc]?frac\s*(?:\{([^{}]*)\}|(\d))\s*(?:\{([^{}]*)\}|(\d))")
_OPERATOR = re.compile(r"[-+*]|\\(?:times|cdot|div)(?![A-Za-z])")
_POWER = re.compile(r"(?<![\d.,])(\d{1,6})\s*\^\s*(?:\{\s*(-?\d{1,2})\s*\}|(\d{1,2}))(?!\d)")
_MOST = 10**20  # of a power
_LARGE = re.compile(
    rf"(?P<number>{NUMBER})(?:\s*(?P<text>{_TEXT}\{{)\s*|\s+)"
    r"(?P<scale>(?i:hundred|thousand|million|billion))\b"
)
_SCALES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9}
_VULGAR = re.compile(r"(?:(?<![\d.,/])(\d{1,20}) ?)?([¼½¾⅛⅜⅝⅞])")
_MIXED = re.compile(r"(?<![\d.,/])(\d{1,20})\s+(\d{1,3})/(\d{1,3})(?![\d/])")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:(?: \d{3}){1,6}|(?:['’]\d{3}){1,6})(?!\d|,\d{3})")
_NO_GROUPS = str.maketrans("", "", " '’")
_DECIMAL_COMMA = re.compile(r"(?<![\d.,])(\d{1,20}),(\d{1,2})(?![\d,]|\.\d)")
_SIGNS = str.maketrans({"−": "-", "\u00a0": " ", "\u2009": " ", "\u202f": " ", "\u2007": " "})
_PERCENT = re.compile(r"(?:\\?%|\s[Pp]ercent)$")

# A computed part of an expression stands in it as its value: "<9/2>".
_VALUE = r"<(?P<value>-?\d+/\d+)>"
_PART = re.compile(
    rf"{_TEXT}\{{(?P<text>[-\d., $<>/]*)\}}"
    r"|\\[dtc]?frac\{(?P<above>[^{}()\[\]]*)\}\{(?P<below>[^{}()\[\]]*)\}"
    r"|\\?(?:left)?\((?P<round>[^{}()\[\]]*?)\\?(?:right)?\)"
    r"|\\?(?:left)?\[(?P<square>[^{}()\[\]]*?)\\?(?:right)?\]"
    r"|(?<![A-Za-z}])\{(?P<braced>[^{}()\[\]|]*)\}"
    r"|\|(?P<size>[^{}()\[\]|]*)\|"
)
_FACTOR = re.compile(
    rf"{_SPACE}(?P<operator>[-+*/]|\\(?:times|cdot|div)(?![A-Za-z])){_SPACE}"
    rf"(?:\$\s*)?(?:{_VALUE}|(?P<number>{NUMBER})){_SPACE}"
)
_DIVISIONS = ("/", "\\div")
_DEEPEST = 4  # fractions and brackets within each other

# What else math-verify may find an amount in; each bracket multiplies the time that it takes.
_COMMAND = re.compile(r"\\(?:left|right|times|cdot|div|sqrt|q?quad|pounds)(?![A-Za-z])")
_WORDS = re.compile(rf"{_TEXT}\{{[^{{}}]*\}}")
_FRACTION = re.compile(r"\\[dt]?frac\s*(?:\{\s*\d{1,20}\s*\}|\d){2}")
_SHAPE = re.compile(
    r"(?=\D*\d)\s*(?:[A-Za-z][A-Za-z ]{0,20}=)?"  # its name
    r"[^A-Za-z]*"  # arithmetic
    r"[A-Za-z .\\{}]{0,30}[^A-Za-z]*"  # its unit
)
_SYMBOLS = re.compile(r"[0-9A-Za-z\s.,$£€%+*/×÷·−()\[\]{}=\\~;:'-]{0,60}")
_REFUSED = re.compile(r"\*\s*\*|\\[A-Za-z]")  # powers, and any other command
_MOST_PARTS = 1  # brackets and fractions


def spelled(text: str) -> str:
    """Rewrite numbers in digits, with a decimal point and no spaces.

    ``1 234`` becomes 1234 (groups of three after a space of any width, or after an apostrophe),
    ``18,50`` 18.50 (one or two digits after a comma), ``1.5 million`` 1500000, ``3 1/2`` and ``3½``
    3.5, ``10^3`` 1000; ``−`` is a minus.
    """
    text = without_invisible(text).translate(_SIGNS)
    text = _GROUPED.sub(_ungrouped, text)
    text = _DECIMAL_COMMA.sub(r"\1.\2", text)
    text = _VULGAR.sub(_vulgar, _MIXED.sub(_mixed, text))
    return _POWER.sub(_power, _LARGE.sub(_large, text))


def _ungrouped(found: re.Match[str]) -> str:
    return found[0].translate(_NO_GROUPS)


def _vulgar(found: re.Match[str]) -> str:
    return _decimal(int(found[1] or 0) + Fraction(numeric(found[2])))


def _power(found: re.Match[str]) -> str:
    base, exponent = int(found[1]), int(found[2] or found[3])
    value = Fraction(base) ** exponent if base else Fraction(_MOST)
    return (_decimal(value) if value < _MOST else "") or found[0]


def _mixed(found: re.Match[str]) -> str:
    whole, above, below = map(int, found.groups())
    return _decimal(whole + Fraction(above, below)) or found[0] if below else found[0]


def _large(found: re.Match[str]) -> str:
    digits = _decimal(_number(found["number"]) * _SCALES[found["scale"].lower()])
    return f"{digits}{found['text'] or ''}" if digits else found[0]


def _decimal(value: Fraction) -> str:
    """A value in decimal digits; empty if it is periodic or too long."""
    thousandths = value * 1000
    if thousandths.denominator > 1:
        return ""
    whole, rest = divmod(int(thousandths), 1000)
    return f"{whole}.{rest:03}" if rest else str(whole)


def _set(text: str) -> str:
    """Strip TeX layout from an expression."""
    if "\\" in text or "~" in text or "{" in text:
        text = _BLANK.sub(" ", _NOTHING.sub("", text))
        text = _MARK.sub(_mark, _DOLLARS.sub("$", _MONEY.sub("€", text)))
    if "frac" in text or "over" in text:
        text = _DIGITS.sub(_braced, _OVER.sub("/", text))
    return _BAR.sub("|", text) if "|" in text or "vert" in text else text


def _mark(found: re.Match[str]) -> str:
    return found[1] or " "


def _braced(found: re.Match[str]) -> str:
    return "\\frac{{{}}}{{{}}}".format(*(each for each in found.groups() if each is not None))


def _bare(text: str) -> str:
    text = spelled(_set(text)).strip(_AROUND).rstrip(_AFTER)
    text = _ABOUT.sub("", _DEGREES.sub("", _EXACTLY.sub("", text)).strip())
    return _SQUARE.sub("", text.translate(_CURRENCIES))


def read_plain(text: str) -> Fraction | None:
    """The value of a number that is only decorated (``$1,234``, ``**5**``), or None."""
    if _PLAIN.fullmatch(text):
        return _number(text)
    return _undecorated(_GROUPED.sub(_ungrouped, _set(text)))


def _undecorated(text: str) -> Fraction | None:
    plain = text.translate(_DECORATION).strip(" \t\n*")
    plain = _THOUSANDS.sub(",", _SIGN.sub(r"\1", plain))
    return _number(plain) if _PLAIN.fullmatch(plain) else None


def read_amount(text: str) -> Fraction | None:
    r"""The value of an amount, or None where the strict reading does not know it.

    A percentage counts as its number: ``50\%`` is 50. Source: math-verify,
    ``math_verify/grader.py`` (``sympy_numeric_eq``: "If it's 9% == 9").
    """
    if _PLAIN.fullmatch(text):
        return _number(text)
    text = _bare(text)
    plain = _undecorated(text)
    if plain is not None or "<" in text:
        return plain
    *sides, text = text.split("=")
    if sides and _NAME.fullmatch(text):
        text = sides.pop()
    if not all(_NAME.fullmatch(side) or _compute(side) is not None for side in sides):
        return None
    number = _PERCENT.sub("", text.strip())
    if (plain := _undecorated(number)) is not None:
        return plain
    if number != text.strip() and _OPERATOR.search(number[1:]):
        return None  # "36 * 50 %" is 18
    return _compute(_UNIT.sub("", number))


def may_be_amount(text: str) -> bool:
    """The text could be an amount: short, shallow, few letters."""
    text, fractions = _FRACTION.subn("1", _WORDS.sub(" ", text))
    text = _COMMAND.sub(" ", text)
    opened, closed = (sum(map(text.count, brackets)) for brackets in ("([{", ")]}"))
    return (
        _SYMBOLS.fullmatch(text) is not None
        and _SHAPE.fullmatch(text) is not None
        and _REFUSED.search(text) is None
        and opened == closed
        and opened + fractions <= _MOST_PARTS
    )


def _compute(text: str) -> Fraction | None:
    """The value of an arithmetic expression, innermost part first, or None."""
    for _ in range(_DEEPEST):
        text, parts = _PART.subn(_value_of, text)
        if not parts:
            break
    return _sum(text)


def _value_of(part: re.Match[str]) -> str:
    """The value of a bracket, a fraction or a wrapped number; ``<>`` if unreadable."""
    if part["above"] is not None:
        above, below = _sum(part["above"]), _sum(part["below"])
        value = above / below if above is not None and below else None
    else:
        inner = ("text", "round", "square", "braced", "size")
        value = _sum("".join(part[name] or "" for name in inner))
        value = abs(value) if value is not None and part["size"] else value
    return "<>" if value is None else f"<{value.numerator}/{value.denominator}>"


def _sum(text: str) -> Fraction | None:
    """The value of a sum of products, or None."""
    total, product = Fraction(0), Fraction(0)
    try:
        for operator, factor in _factors(text.strip()):
            if operator in "+-":
                total, product = total + product, factor if operator == "+" else -factor
            else:
                product = product / factor if operator in _DIVISIONS else product * factor
    except (ValueError, ZeroDivisionError):
        return None
    return total + product


def _factors(text: str) -> Iterator[tuple[str, Fraction]]:
    """Yield the factors of a sum of products with their operators; ValueError for anything else."""
    text = text if text.startswith(("+", "-")) else f"+{text}"
    end = 0
    while end < len(text):
        found = _FACTOR.match(text, end)
        if found is None:
            raise ValueError(text)
        yield found["operator"], _number(found["number"] or found["value"])
        end = found.end()


def _number(digits: str) -> Fraction:
    return Fraction(digits.replace(",", ""))
