"""Mistakes in a YAML file, reported together in one error."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from pipeline.base.errors import UserError

Place = tuple[str | int, ...]
"""Path to a value: names of fields and indices in lists."""

_LONGEST_VALUE, _LONGEST_NAME = 80, 40


@dataclass(frozen=True)
class Mistake:
    """Something wrong with a file, at a value."""

    place: Place
    text: str

    def within(self, *place: str | int) -> Mistake:
        return Mistake((*place, *self.place), self.text)


class Mistaken(ValueError):
    """Mistakes found by a validator, relative to its section."""

    def __init__(self, found: Iterable[Mistake]) -> None:
        self.found = tuple(found)
        super().__init__("; ".join(f"{dotted(m.place)}: {m.text}" for m in self.found))


def wrong(place: Place, found: object, allowed: str) -> Mistake:
    return Mistake(place, f"found {shown(found)}; allowed: {allowed}")


def as_error(path: Path, mistakes: Iterable[Mistake], line: Callable[[Place], int]) -> UserError:
    """The error that lists distinct mistakes in the order of their lines."""
    said = [(line(m.place), f"{dotted(m.place)}: {m.text}") for m in dict.fromkeys(mistakes)]
    count = f"{len(said)} mistake{'s' if len(said) > 1 else ''}"
    listed = "\n".join(f"  - line {line}: {text}" for line, text in sorted(said, key=itemgetter(0)))
    return UserError(f"{path} has {count}:\n{listed}")


def dotted(place: Place) -> str:
    """A path as text, such as ``grid.seeds.0``."""
    names = (repr(str(part))[1:-1] for part in place)
    short = (n if len(n) <= _LONGEST_NAME else f"{n[: _LONGEST_NAME - 3]}..." for n in names)
    return ".".join(short) or "the file"


def shown(value: object) -> str:
    """A short representation on one line, with control characters escaped."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    text = str(value) if isinstance(value, datetime.date) else repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."


# --- what pydantic finds --------------------------------------------------------------------------

_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "string": "text",
    "tuple": "a list",
    "list": "a list",
    "dict": "names with values",
    "model": "fields with values",
}
_BOUNDS = {
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "too_short": "a list of {min_length} or more",
    "string_unicode": "text without half of a surrogate pair",
    "string_too_short": "a text that is not blank",
    "string_too_long": "a text of at most {max_length} characters",
    "string_pattern_mismatch": "small letters, digits, _ and -, a letter or digit first",
    "finite_number": "a finite number",
    "literal_error": "{expected}",
    "unknown_name": "{expected}",
}


def mistakes_of(error: ValidationError, content: object) -> Iterator[Mistake]:
    """Yield pydantic's errors about a content, once for each place.

    For unions pydantic reports the failure of every member.
    """
    allowed: dict[tuple[Place, str], list[str]] = {}
    for detail in error.errors(include_url=False):
        place = _place_in(content, detail)
        match detail["type"]:
            case "value_error":
                said = detail["ctx"]["error"]
                yield from (
                    (mistake.within(*place) for mistake in said.found)
                    if isinstance(said, Mistaken)
                    else [Mistake(place, str(said))]
                )
            case "missing":
                yield Mistake(place, "found nothing; it is required")
            case "extra_forbidden":
                yield Mistake(place, "there is no such field; remove it or correct its name")
            case "union_tag_not_found":
                yield Mistake((*place, _discriminator(detail)), "found nothing; it is required")
            case "union_tag_invalid":
                name, tags = _discriminator(detail), detail["ctx"]["expected_tags"]
                yield wrong((*place, name), detail["input"][name], tags)
            case _:
                found = allowed.setdefault((place, shown(detail["input"])), [])
                found.append(_allowed(detail))
    for (place, found_text), several in allowed.items():
        text = " or ".join(dict.fromkeys(several))
        yield Mistake(place, f"found {found_text}; allowed: {text}")


def _discriminator(detail: ErrorDetails) -> str:
    return str(detail["ctx"]["discriminator"]).strip("'")


def _place_in(content: object, detail: ErrorDetails) -> Place:
    """The place of pydantic's location, which also names members of unions."""
    place: list[str | int] = []
    way = detail["loc"]
    for number, part in enumerate(way, 1):
        if _has(content, part):
            content = content[part]  # type: ignore[index]
            place.append(part)
        elif detail["type"] == "missing" and number == len(way):
            place.append(part)
    return tuple(place)


def _has(content: object, part: str | int) -> bool:
    if isinstance(content, dict):
        return part in content
    return isinstance(content, list) and isinstance(part, int) and part < len(content)


def _allowed(detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind in _BOUNDS:
        return _BOUNDS[kind].format(**context)
    if kind == "int_from_float":
        return _KINDS["int"]
    return _KINDS.get(kind.split("_")[0], detail["msg"].lower())
