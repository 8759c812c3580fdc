"""Shared by the parsers: their result, their error, and a consistency check of stories."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pipeline.tom.story import (
    Action,
    Aside,
    Carry,
    Change,
    Discuss,
    Enter,
    Event,
    Exit,
    Move,
    Present,
    Remark,
    Report,
    Story,
)

LONGEST_STORY = 20_000
"""Characters; the longest story of the benchmarks has about 4,000."""

LONGEST_QUESTION = 2_000
"""Characters; the longest question of the benchmarks has about 200."""


class ParseError(ValueError):
    """A sentence that does not belong to the language of the benchmark."""

    def __init__(self, benchmark: str, number: int, sentence: str, why: str = "") -> None:
        """``number`` counts sentences from 1."""
        shown = sentence if len(sentence) <= 120 else sentence[:117] + "..."
        reason = why or "it has none of the forms of this benchmark"
        super().__init__(f"{benchmark}: cannot read sentence {number} ({shown!r}): {reason}")
        self.number = number
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class ParsedStory:
    """The events of a story and the sentence of each."""

    events: Story
    sentences: tuple[str, ...]

    def quote(self, moment: int) -> str:
        """A sentence with its number, from 1."""
        return f"{moment + 1}: {self.sentences[moment]}"


Build = Callable[[re.Match[str]], Event]
Form = tuple[re.Pattern[str], Build]

_NUMBER = re.compile(r"^\d+\s+")
_OPTIONS = re.compile(r"\s*\([^()]{1,2000} / [^()]{1,2000}\)\s*$")


def check_length(benchmark: str, text: str, longest: int) -> None:
    """Reject text far longer than any benchmark's, which some patterns take too long to search."""
    if len(text) > longest:
        why = f"it has {len(text):,} characters; allowed: {longest:,}"
        raise ParseError(benchmark, 1, text, why)


def match_question(
    benchmark: str, forms: Iterable[re.Pattern[str]], text: str
) -> dict[str, str | None]:
    """The named groups of the first form that matches a question."""
    check_length(benchmark, text, LONGEST_QUESTION)
    question = text.strip()
    for form in forms:
        if match := form.fullmatch(question):
            return match.groupdict()
    raise ParseError(benchmark, 1, question, "it is not a question of this benchmark")


def without_options(question: str) -> str:
    """A question without options behind it: "Where is the hat? (red_box / jar)"."""
    return _OPTIONS.sub("", question).strip()


def unnumbered(sentence: str) -> str:
    """A sentence stripped of space and its leading number."""
    return _NUMBER.sub("", sentence.strip())


def first_match(forms: tuple[Form, ...], sentence: str) -> Event | None:
    """The event of the first form that matches the whole sentence, or None."""
    for pattern, build in forms:
        match = pattern.fullmatch(sentence)
        if match:
            return build(match)
    return None


def names_in(text: str) -> tuple[str, ...]:
    """Split "Ann, Bob and Cleo" (or "Ann, Bob, and Cleo") into names."""
    return tuple(name for name in re.split(r",\s*(?:and\s+)?|\s+and\s+", text) if name)


def listed(names: Sequence[str]) -> str:
    """Names as in "Ann, Bob and Cleo"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def check_presence(benchmark: str, story: ParsedStory) -> None:
    """Check that agents who move or change something, or speak to a room, have entered one."""
    inside: set[str] = set()
    for moment, event in enumerate(story.events):
        action = event.action if isinstance(event, Aside) else event
        actor = _needs_room(action)
        if actor is not None and actor not in inside:
            why = f"{actor} is in no room at this point"
            raise ParseError(benchmark, moment + 1, story.sentences[moment], why)
        match action:
            case Enter(agents):
                inside.update(agents)
            case Present(agent):
                inside.add(agent)
            case Exit(agent):
                inside.discard(agent)


def _needs_room(action: Action | Remark) -> str | None:
    match action:
        case Move(agent) | Carry(agent) | Change(agent):
            return agent
        case Discuss(speaker, None) | Report(speaker, None):
            return speaker
    return None
