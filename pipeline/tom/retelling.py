"""From the text of a story and a question to the true recount of the object asked for."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.tom.language import PLAIN, UPSTREAM, language_of
from pipeline.tom.observation import Chain
from pipeline.tom.recount import Line, recount
from pipeline.tom.solve import read
from pipeline.tom.story import agents_of


@dataclass(frozen=True, slots=True)
class Retold:
    """A story as a recount; people and places in order of appearance.

    Attributes:
        lines: The recount.
        chain: The believers asked about.
    """

    lines: tuple[Line, ...]
    chain: Chain
    people: tuple[str, ...]
    places: tuple[str, ...]


def retell(benchmark: str, story: str, question: str) -> Retold | None:
    """The recount for a question about an object's place at the end; None for any other.

    Beliefs are those behind the labels of the benchmark whose language the story is in.
    """
    language = language_of(benchmark)
    if language is None or not story:
        return None
    rules = language.rules_named(UPSTREAM if benchmark == language.name else PLAIN)
    asked = language.place_asked(question)
    if asked is None:
        return None
    try:
        told, known = read(language, story, rules, asked.object)
    except (ValueError, KeyError):
        return None
    lines = recount(asked, told.events, known)
    places = tuple(dict.fromkeys(line.place for line in lines))
    return Retold(lines, asked.chain, agents_of(told.events), places)
