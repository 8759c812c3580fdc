"""Responders for the exam of the verdict, who read nothing but a story's text and its question.

They know neither the features of the rules that the verdict fits nor its minds: each is a few lines
over strings. Believers are given the gold answers, and slip.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from pipeline.tasks.example import Example

Respond = Callable[[Example, Random], str]
"""From a question to an answer."""

_PLACED = re.compile(r"(?:is in|it to|to) the ([\w-]+)(?: now)?\.?$")
_LEFT = re.compile(r"^(\w+) (?:left|exited .*)\.$")


@dataclass(frozen=True, slots=True)
class Kind:
    """Responders of one kind, with what the verdict on them should be.

    Attributes:
        name: What they do.
        expected: The verdicts that are right; others are not, and ``beliefs`` is a bold call.
        responders: Some of them.
    """

    name: str
    expected: tuple[str, ...]
    responders: tuple[Respond, ...]


def places(example: Example) -> list[str]:
    """The places that a story names, each once, in order."""
    lines = example.story.splitlines()
    found = (match.group(1) for line in lines if (match := _PLACED.search(line)))
    return list(dict.fromkeys(found)) or [example.answer]


def gold(example: Example, _: Random) -> str:
    """Answer right."""
    return example.answer


def guess(example: Example, random: Random) -> str:
    """Answer with any place."""
    return random.choice(places(example))


def slipping(share: Callable[[Example], float]) -> Respond:
    """Answer right, but for a share of slips that depends on the question."""

    def answer(example: Example, random: Random) -> str:
        others = [place for place in places(example) if place != example.answer]
        slips = random.random() < share(example)
        return random.choice(others) if others and slips else example.answer

    return answer


def _sentences(example: Example) -> int:
    return len(example.story.splitlines())


def _share(text: str) -> float:
    """A number from 0 to 1 that a text always has."""
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16) / 16**12


def shape(example: Example) -> str:
    """A story without its names: who is first, second, and so on."""
    numbers: dict[str, str] = {}

    def number(found: re.Match[str]) -> str:
        return numbers.setdefault(found.group(), f"#{len(numbers)}")

    things = re.findall(r"^The ([\w-]+) is in|(?:entered|exited) the ([\w-]+)", example.story, re.M)
    named = {*places(example), *re.findall(r"\b[A-Z]\w+", example.story)}
    named |= {name for both in things for name in both if name}
    return re.sub(rf"\b(?:{'|'.join(map(re.escape, sorted(named)))})\b", number, example.story)


def by_heart(known: float) -> Respond:
    """Know a share of all story shapes, and guess elsewhere."""
    return lambda e, random: gold(e, random) if _share(shape(e)) < known else guess(e, random)


def mixed(one: Respond, other: Respond, share: float, key: Callable[[Example], str]) -> Respond:
    """Follow one on a share of the questions, or stories, and the other elsewhere."""
    return lambda e, random: (one if _share("mixed" + key(e)) < share else other)(e, random)


def by_order(one: Respond, other: Respond, orders: Sequence[int]) -> Respond:
    """Follow one in some belief orders, and the other elsewhere."""
    return lambda e, random: (one if e.order in orders else other)(e, random)


def first_left(example: Example, _: Random) -> str:
    """The place when somebody asked about first left, ever."""
    at = places(example)[0]
    for line in example.story.splitlines():
        said = "told" in line or "claimed" in line
        if (placed := _PLACED.search(line)) and not said:
            at = placed.group(1)
        if (left := _LEFT.match(line)) and left.group(1) in example.question:
            return at
    return at


def near_name(example: Example, _: Random) -> str:
    """The place that stands nearest to the last mention of the last person asked about."""
    people = [w for w in re.findall(r"\b[A-Z]\w+", example.question) if w in example.story]
    at = example.story.rfind(people[-1]) if people else 0
    return min(places(example), key=lambda place: abs(example.story.rfind(place) - at))


def second_named(example: Example, _: Random) -> str:
    """The place that is named second."""
    return places(example)[min(1, len(places(example)) - 1)]


def most_vowels(example: Example, _: Random) -> str:
    """The place with most vowels."""
    return max(places(example), key=lambda place: sum(map(place.count, "aeiou")))


def by_sentences(example: Example, _: Random) -> str:
    """The place whose number is that of the sentences, round and round."""
    found = places(example)
    return found[_sentences(example) % len(found)]


def by_people(example: Example, _: Random) -> str:
    """The place whose number is that of the first name's letters, round and round."""
    found, first = places(example), example.story.split(" ", 1)[0]
    return found[len(first) % len(found)]


def alphabetical(example: Example, _: Random) -> str:
    """The place that comes first in the alphabet."""
    return min(places(example))


def last_said(example: Example, _: Random) -> str:
    """The place that is named last."""
    return max(places(example), key=example.story.rfind)


def by_question(example: Example) -> str:
    """What a mixture by question goes by."""
    return example.story + example.question


def by_story(example: Example) -> str:
    """What a mixture by story goes by."""
    return example.story


RULES: Mapping[str, Respond] = {
    "first left, ever": first_left,
    "nearest to the name": near_name,
    "second place named": second_named,
    "most vowels": most_vowels,
    "number of sentences": by_sentences,
    "letters of the first name": by_people,
    "alphabetical": alphabetical,
    "last place said": last_said,
}
"""Rules in a few lines over strings."""

_NOT_BELIEFS = ("rule", "unexplained", "undecided", "simpler mind")
KINDS: Sequence[Kind] = (
    Kind(
        "believers, right on 75 % and more",
        ("beliefs",),
        (
            gold,
            slipping(lambda _: 0.1),
            slipping(lambda _: 0.25),
            slipping(lambda e: min(0.35, 0.02 * _sentences(e))),
            slipping(lambda e: 0.1 * (e.order or 0)),
        ),
    ),
    Kind("structures by heart", ("by heart",), tuple(map(by_heart, (0.5, 0.6, 0.7)))),
    Kind(
        "mixtures of beliefs and a rule",
        ("mixture",),
        tuple(
            mixed(gold, rule, share, key)
            for rule in (alphabetical, last_said, first_left, most_vowels)
            for share, key in ((0.6, by_question), (0.5, by_story))
        ),
    ),
    Kind(
        "beliefs in one order, something else in the other",
        ("mixture",),
        (
            by_order(gold, last_said, [1]),
            by_order(gold, guess, [1]),
            by_order(gold, alphabetical, [2]),
        ),
    ),
    Kind("rules", _NOT_BELIEFS, tuple(RULES.values())),
    Kind("guessers", ("unexplained",), (guess,)),
)
"""Who sits the exam."""
