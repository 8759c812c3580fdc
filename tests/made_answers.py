"""Responses to questions, made up: right, wrong, disguised, and what no model would say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle, islice
from random import Random
from typing import Any

from pipeline.audit.cheats import CHEATS, respond
from pipeline.rules.reading import read_all
from pipeline.tasks.example import Example

Row = Mapping[str, Any]
Answer = tuple[int, str]
"""The place of a question, and what was answered after the opening ``<think>``."""


DISGUISES: Mapping[str, Callable[[str], str]] = {
    "nested answer tags": lambda answer: respond(f"<answer>{answer}</answer>"),
    "an open answer tag inside": lambda answer: respond(f"elsewhere<answer>{answer}"),
    "an answer after another": lambda answer: f"{respond('elsewhere')}<answer>{answer}</answer>",
    "thinking that ends twice": lambda answer: f"Let me see.</think>{respond(answer)}",
    "a second prefill": lambda answer: f"<think>{respond(answer)}",
    "an answer after a second prefill": lambda answer: (
        f"{respond('elsewhere')}<think>{respond(answer)}"
    ),
}
"""Ways to wrap an answer, by name: not even the right one may be paid in them."""


def example_of(row: Row) -> Example:
    """The question that a row of an exported environment holds."""
    fields = row["example"]
    choices = fields["choices"] and tuple(fields["choices"])
    return Example(**{**fields, "choices": choices})


def cheats(rows: Sequence[Row]) -> list[Answer]:
    """All that knows nothing, and right answers in what none may be paid in."""
    found = []
    for place, reading in enumerate(read_all([example_of(row) for row in rows])):
        said = (cheat(reading) for cheat in CHEATS.values())
        found += [(place, text) for text in said if text]
        found += [(place, hide(reading.example.answer)) for hide in DISGUISES.values()]
    return found


def made_up(rows: Sequence[Row], count: int) -> list[Answer]:
    """So many responses, in turn to all questions."""
    random = Random(0)
    known = cheats(rows)
    return [*known, *islice(_drawn(rows, random), count - len(known))]


def _drawn(rows: Sequence[Row], random: Random) -> Iterator[Answer]:
    answers = [row["example"]["answer"] for row in rows]
    for place in cycle(range(len(rows))):
        text = random.choice([answers[place], random.choice(answers)])
        text = random.choice([str.upper, str.title, "the {}".format, "{}.".format, str])(text)
        text = random.choice([respond, str, "<answer>{}</answer>".format, "</think>{}".format])(
            text
        )
        cut = random.randrange(len(text) + 1) if random.random() < 0.2 else len(text)
        yield place, text[:cut] + random.choice(["", "", " ", "\x00", "</answer>", "<answer>"])
