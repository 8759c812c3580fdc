"""Hi-ToM text to events: numbered or not, of the released tasks or of today's generator.

Both forms of claims are read ("... is in the box." and "... now."), and what surrounds the story in
the released files is skipped: an instruction line in front, a stray ``***`` at the end.
"""

from __future__ import annotations

import re

from pipeline.tom.parse.text import (
    LONGEST_QUESTION,
    Form,
    ParsedStory,
    ParseError,
    check_length,
    check_presence,
    first_match,
    names_in,
    unnumbered,
)
from pipeline.tom.question import WhereQuestion
from pipeline.tom.story import (
    WAITING_ROOM,
    Claim,
    Enter,
    Event,
    Exit,
    Move,
    Place,
    Remark,
    Stay,
)

_INSTRUCTION = re.compile(r"\A\s*Read the following story[^\n]*\n")
_NAMES = r"([A-Z]\w*(?:, [A-Z]\w*)*(?:,? and [A-Z]\w*)?)"

_FORMS: tuple[Form, ...] = (
    (re.compile(_NAMES + r" entered the ([\w-]+)"), lambda m: Enter(names_in(m[1]), m[2])),
    (re.compile(r"(\w+) exited the ([\w-]+)"), lambda m: Exit(m[1], m[2])),
    (re.compile(r"(\w+) moved the ([\w-]+) to the ([\w-]+)"), lambda m: Move(m[1], m[2], m[3])),
    (
        re.compile(r"(\w+) made no movements and stayed in the ([\w-]+) for 1 minute"),
        lambda m: Stay(m[1], m[2]),
    ),
    (
        re.compile(r"(\w+) publicly claimed that (?:the )?([\w-]+) is in the ([\w-]+?)(?: now)?"),
        lambda m: Claim(m[1], None, m[2], m[3]),
    ),
    (
        re.compile(
            r"(\w+) privately told (\w+) that (?:the )?([\w-]+) is in the ([\w-]+?)(?: now)?"
        ),
        lambda m: Claim(m[1], m[2], m[3], m[4]),
    ),
    (
        re.compile(r"\w+ (?:saw an? \w+|lost (?:his|her|their) [\w-]+|(?:dis)?likes the [\w-]+)"),
        lambda m: Remark(m[0] + "."),
    ),
)
_PLACE = re.compile(r"The ([\w-]+) is in the ([\w-]+)")


def parse_story(text: str) -> ParsedStory:
    body = _INSTRUCTION.sub("", text).replace("***", " ")
    sentences = [unnumbered(part) for part in body.split(".")]
    sentences = [sentence for sentence in sentences if sentence]
    events: list[Event] = []
    room = None
    for number, sentence in enumerate(sentences, 1):
        event = first_match(_FORMS, sentence)
        place = None if event else _PLACE.fullmatch(sentence)
        if place:
            if room is None:
                raise ParseError("hi_tom", number, sentence, "nobody has entered a room yet")
            event = Place(place[1], place[2], room)
        if event is None:
            raise ParseError("hi_tom", number, sentence)
        if isinstance(event, Enter) and event.room != WAITING_ROOM:
            room = event.room
        events.append(event)
    story = ParsedStory(tuple(events), tuple(f"{sentence}." for sentence in sentences))
    check_presence("hi_tom", story)
    return story


_REALITY = re.compile(r"Where is the ([\w-]+) really\?")
_BELIEF = re.compile(r"Where does ((?:\w+ (?:really )?thinks? )+)the ([\w-]+) is\?")
_THINKER = re.compile(r"(\w+) (?:really )?thinks?")


def parse_question(text: str) -> WhereQuestion:
    """Read a question of any belief order; choices in brackets after it are ignored."""
    check_length("hi_tom", text, LONGEST_QUESTION)
    question = re.sub(r"\s*\([^)]*\)\s*$", "", text.strip())
    if match := _REALITY.fullmatch(question):
        return WhereQuestion(match[1])
    if match := _BELIEF.fullmatch(question):
        return WhereQuestion(match[2], tuple(_THINKER.findall(match[1])))
    raise ParseError("hi_tom", 1, text.strip(), "it is not a question of this benchmark")


_PLACED_LINE = re.compile(r"^The ([\w-]+) is in the [\w-]+\.$", re.MULTILINE)
_ENTERED_LINE = re.compile(r" entered the ([\w-]+)\.$", re.MULTILINE)


def in_full(story: str) -> str:
    """Expand the brief telling to the benchmark's words; other stories stay as they are.

    The brief telling (``pipeline.tom.generate.brief``) says "Ann left." and "Ann moved it to the
    box."; room and object are those of the lines before.
    """
    lines = []
    room = thing = ""
    for line in story.split("\n"):
        room = found[1] if (found := _ENTERED_LINE.search(line)) else room
        thing = found[1] if (found := _PLACED_LINE.search(line)) else thing
        if line.endswith(" left."):
            line = f"{line.removesuffix(' left.')} exited the {room}."
        lines.append(line.replace(" moved it to the ", f" moved the {thing} to the "))
    return "\n".join(lines)
