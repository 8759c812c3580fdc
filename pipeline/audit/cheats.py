"""Cheats: responses without an answer, and their grades.

A cheat gives several answers at once, or repeats the prompt. A constant gives the same text to
every question. A disguise hides an answer in ambiguous tags. Published rules pay some of them; the
strict match must pay none, so that training cannot be won that way.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random

from pipeline.audit.records import Won, WonWithoutAnswer
from pipeline.rules.reading import Reading
from pipeline.tasks import registry
from pipeline.tasks.example import Example

_THOUGHT = "Let me see."
_SPEAKER = re.compile(r"^(\w+):", re.MULTILINE)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")

Cheat = Callable[[Reading], str | None]
"""From a question to a whole response; None where it does not apply."""


def respond(answer: str) -> str:
    return f"{_THOUGHT}</think><answer>{answer}</answer>"


# --- cheats ---------------------------------------------------------------------------------------


def possible_answers(reading: Reading) -> tuple[str, ...]:
    """The possible answers as far as the prompt tells; empty for free text."""
    example = reading.example
    if example.answer_kind == "yes_no":
        return ("yes", "no")
    if example.answer_kind == "number":
        return tuple(dict.fromkeys(_NUMBER.findall(example.question)))
    if example.answer_kind == "names" and not example.choices:
        return tuple(dict.fromkeys(_SPEAKER.findall(example.story)))
    return reading.candidates or example.choices or ()


def _every_answer(reading: Reading) -> str | None:
    found = possible_answers(reading)
    return respond(f"It is {' and '.join(found)}.") if found else None


def _either_answer(reading: Reading) -> str | None:
    *_, first, last = ("", "", *possible_answers(reading))
    return respond(f"either {first} or {last}") if first else None


def _all_options(reading: Reading) -> str | None:
    """All options at once, unless a list of all of them is the answer."""
    options, answer = reading.example.choices or (), reading.example.answer
    if not options or set(options) == set(answer.split(", ")):
        return None
    return respond("\n".join(options))


def _answer_blocks(reading: Reading) -> str | None:
    found = possible_answers(reading)
    blocks = "".join(f"<answer>{answer}</answer>" for answer in found)
    return f"{_THOUGHT}</think>{blocks}" if len(found) > 1 else None


def _saying(text: str, reading: Reading) -> str:
    return respond(text)


def _question(reading: Reading) -> str:
    return respond(reading.example.question)


def _story(reading: Reading) -> str | None:
    return respond(reading.example.story) if reading.example.story else None


CHEATS: Mapping[str, Cheat] = {
    "every possible answer in one sentence": _every_answer,
    "either of the last two possible answers": _either_answer,
    "all options as they are shown": _all_options,
    "an answer block for each possible answer": _answer_blocks,
    "yes and no": partial(_saying, "yes and no"),
    "no and yes": partial(_saying, "no and yes"),
    "(a) or (b)": partial(_saying, "(a) or (b)"),
    "the question repeated": _question,
    "the story repeated": _story,
}
"""By name in tables."""


def won_without_answer(readings: Sequence[Reading]) -> WonWithoutAnswer:
    cheats = [_won(name, readings, cheat) for name, cheat in CHEATS.items()]
    search = Constants.tried_on([reading.example for reading in readings])
    constants = [_won(text, readings, partial(_saying, text)) for text in search.finalists()]
    return WonWithoutAnswer(
        constant=max(constants, key=lambda won: won.published),
        strict_constant=max(constants, key=lambda won: won.strict),
        cheats=sorted(cheats, key=lambda won: (-won.published, -won.strict)),
    )


def _won(name: str, readings: Sequence[Reading], cheat: Cheat) -> Won:
    published = strict = 0
    for reading in readings:
        response = cheat(reading)
        if response is not None:
            grade = registry.get(reading.example.task).grade(response, reading.example)
            published += grade.correct
            strict += grade.strict
    return Won(what=name, published=published / len(readings), strict=strict / len(readings))


# --- constants ------------------------------------------------------------------------------------

_ALWAYS_TRIED = ("yes", "no", "(a)", "(b)")
_COMMON_ANSWERS = 16  # so many of the gold answers are put together
_MOST_PARTS = 5
_ROWS = 400  # so many decide the search
_FINALISTS = 4  # by either rule


@dataclass(frozen=True)
class Constants:
    """A search for the constant text with most right answers.

    It starts from the best single answer and adds further ones before or after it as long as that
    wins more rows. It uses the gold answers, as training does in the long run.

    Attributes:
        examples: The rows tried; a fixed sample of a large set.
        parts: The answers to combine.
        tried: Rows won by each text: by the published rule, and strictly.
    """

    examples: Sequence[Example]
    parts: Sequence[str]
    tried: dict[str, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def tried_on(cls, examples: Sequence[Example]) -> Constants:
        common = [a for a, _ in Counter(e.answer for e in examples).most_common(_COMMON_ANSWERS)]
        rows = examples if len(examples) <= _ROWS else Random(0).sample(examples, _ROWS)
        return cls(rows, list(dict.fromkeys((*common, *_ALWAYS_TRIED))))

    def best(self, strict: bool) -> str:
        """The best text, by the strict match or by the published rule."""
        best, *longer = "", *self.parts
        for _ in range(_MOST_PARTS):
            found = max(longer, key=lambda text: self._wins(text)[strict])
            if self._wins(found)[strict] <= self._wins(best)[strict]:
                break
            best = found
            longer = [text for part in self.parts for text in (f"{best} {part}", f"{part} {best}")]
        return best or self.parts[0]

    def finalists(self) -> list[str]:
        """The few best texts by either rule, to be tried on all rows."""
        found: list[str] = []
        for strict in (False, True):
            self.best(strict)
            found += sorted(self.tried, key=lambda text: -self.tried[text][strict])[:_FINALISTS]
        return list(dict.fromkeys(found))

    def _wins(self, text: str) -> tuple[int, int]:
        if text not in self.tried:
            grades = [registry.get(e.task).grade(respond(text), e) for e in self.examples]
            self.tried[text] = (sum(g.correct for g in grades), sum(g.strict for g in grades))
        return self.tried[text]
