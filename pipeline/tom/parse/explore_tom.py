"""ExploreToM ``story_structure`` text to events.

State updates are free sentences, some without their full stop ("... the harmonica Ann left the
room."), so sentences are cut where one can begin: after a full stop, or before the name of a person
that no sentence of this language has in its middle.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pipeline.tom.observation import CONTAINER, ROOM
from pipeline.tom.parse.text import (
    Form,
    ParsedStory,
    ParseError,
    check_presence,
    first_match,
    match_question,
    names_in,
    unnumbered,
)
from pipeline.tom.question import (
    BEFORE,
    BEGINNING,
    NOW,
    KnowsQuestion,
    Question,
    StateQuestion,
    WhereQuestion,
)
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
    Remark,
    Report,
)

_VERBS = r"(?:entered the|left the|moved the|told (?:privately to|out loud))"
_SUBJECT = re.compile(rf"([A-Z][\w-]*) {_VERBS}")
_LISTENER = re.compile(r"told privately to ([A-Z][\w-]*)")
_ASIDE = re.compile(
    r"While this action was happening, "
    r"(?:(?P<peeking>[^;.]+?) witnessed this action in secret \(and only this action\))?"
    r"(?:; also, )?"
    r"(?:(?P<distracted>[^;.]+?) got distracted and did not realize what happened, .*)?"
)
_TO = r"(?P<speaker>[\w-]+) told (?:privately to (?P<listener>[\w-]+)|out loud)"

_FORMS: tuple[Form, ...] = (
    (re.compile(r"([\w-]+) entered the (.+)"), lambda m: Enter((m[1],), m[2])),
    (re.compile(r"([\w-]+) left the (.+)"), lambda m: Exit(m[1], m[2])),
    (
        re.compile(r"([\w-]+) moved the (.+?) to the (.+), which is also located in the .+"),
        lambda m: Move(m[1], m[2], m[3]),
    ),
    (
        re.compile(
            r"([\w-]+) moved the (.+?) to the (.+?)"
            r"(?:, leaving the (.+) in its original location)?"
        ),
        lambda m: Carry(m[1], m[2], m[3], m[4]),
    ),
    (
        re.compile(_TO + r" about the (?P<topic>.+)"),
        lambda m: Discuss(m["speaker"], m["listener"], m["topic"]),
    ),
    (
        re.compile(_TO + r" that (?:the )?(?P<thing>.+) is in the (?P<place>.+)"),
        lambda m: Report(m["speaker"], m["listener"], m["thing"], CONTAINER, m["place"]),
    ),
)


def parse_story(text: str, objects: Iterable[str] = ()) -> ParsedStory:
    """Read an ExploreToM story structure.

    Args:
        objects: Objects known from elsewhere (such as the question), to be found in the free
            sentences of state updates; objects that are moved in the story are found anyway.
    """
    people = set(_SUBJECT.findall(text)) | set(_LISTENER.findall(text))
    events: list[Event] = []
    sentences: list[str] = []
    for number, sentence in enumerate(_split(text, people), 1):
        if aside := _ASIDE.fullmatch(sentence.rstrip(".")):
            if not events or isinstance(events[-1], Aside | Remark):
                raise ParseError("explore_tom", number, sentence, "it follows no action")
            peeking, distracted = aside["peeking"] or "", aside["distracted"] or ""
            events[-1] = Aside(events[-1], names_in(peeking), names_in(distracted))
            sentences[-1] += f" {sentence}"
            continue
        event = _event(sentence.rstrip("."), people)
        if event is None:
            raise ParseError("explore_tom", number, sentence)
        events.append(event)
        sentences.append(sentence)
    story = ParsedStory(_resolved(events, objects), tuple(sentences))
    check_presence("explore_tom", story)
    return story


def _split(text: str, people: set[str]) -> list[str]:
    """Split running text into sentences where full stops are missing before people's names."""
    # One space between words: the boundary below would search each run of spaces from every start.
    text = " ".join(word for line in text.splitlines() for word in unnumbered(line).split())
    begin = r"While this action was happening,"
    if people:
        anyone = "|".join(sorted(map(re.escape, people)))
        begin += rf"|(?<!\bto )(?<!\band )(?<!\bthat )(?<!, )(?:{anyone})(?=\ [a-z])"
    boundary = re.compile(rf"(?<=\.)\s+(?=[A-Z])|(?<!^)\s+(?={begin})")
    return [part.strip() for part in boundary.split(text) if part.strip()]


def _event(sentence: str, people: set[str]) -> Action | None:
    event = first_match(_FORMS, sentence)
    if event is not None and not isinstance(event, Remark | Aside):
        return event
    agent, _, state = sentence.partition(" ")
    if agent in people and state and not re.match(_VERBS, state):
        return Change(agent, None, state)
    return None


def _resolved(events: list[Event], objects: Iterable[str]) -> tuple[Event, ...]:
    """Tell rooms from containers in reports, and find the objects of state updates."""
    actions = [event.action if isinstance(event, Aside) else event for event in events]
    rooms = {a.room for a in actions if isinstance(a, Enter | Exit | Carry)}
    known = [a.object for a in actions if isinstance(a, Move | Carry)] + list(objects)
    known += _common_phrase([a.state for a in actions if isinstance(a, Change)])

    def resolve(action: Action) -> Action:
        match action:
            case Report(speaker, listener, thing, _, place) if place in rooms:
                return Report(speaker, listener, thing, ROOM, place)
            case Change(agent, None, state):
                return Change(
                    agent, next((thing for thing in known if thing in state), None), state
                )
        return action

    return tuple(
        Aside(resolve(event.action), event.peeking, event.distracted)
        if isinstance(event, Aside)
        else event
        if isinstance(event, Remark)
        else resolve(event)
        for event in events
    )


_LONGEST_NAME = 8  # words


def _common_phrase(states: list[str]) -> list[str]:
    """The longest phrase after "the" common to all state updates: their object, if any."""
    if len(states) < 2:
        return []
    words = states[0].split()
    phrases = [
        " ".join(words[start:end])
        for start in range(1, len(words))
        if words[start - 1] == "the"
        for end in range(start + 1, min(start + _LONGEST_NAME, len(words)) + 1)
    ]
    shared = [phrase for phrase in phrases if all(f"the {phrase}" in state for state in states)]
    return [max(shared, key=len)] if shared else []


_PLACE = r"In which (?P<aspect>container|room) "
_QUESTIONS = (
    re.compile(_PLACE + r"will (?P<first>[\w-]+) search for the (?P<thing>.+)\?"),
    re.compile(
        _PLACE + r"does (?P<first>[\w-]+) think that (?P<second>[\w-]+) will search "
        r"for the (?P<thing>.+)\?"
    ),
    re.compile(_PLACE + r"was the (?P<thing>.+) at the (?P<beginning>beginning)\?"),
    re.compile(_PLACE + r"is the (?P<thing>.+) now\?"),
    re.compile(_PLACE + r"was the (?P<thing>.+?) before (?P<event>.+)\?"),
    re.compile(r"Does (?P<first>[\w-]+) know about (?P<topic>.+)\?(?: Answer yes or no\.)?"),
    re.compile(
        r"What does (?P<first>[\w-]+) think about (?P<second>[\w-]+)'s belief on (?P<topic>.+)\?"
        r"(?: \(.*\))?"
    ),
    re.compile(
        r"Does (?P<first>[\w-]+) think that (?P<second>[\w-]+) believes? that (?:the )?"
        r"(?P<clause>.+)\?(?: Answer yes or no\.)?"
    ),
    re.compile(
        r"Does (?P<first>[\w-]+) believe that (?:the )?(?P<clause>.+)\?(?: Answer yes or no\.)?"
    ),
)


def parse_question(text: str) -> Question:
    found = match_question("explore_tom", _QUESTIONS, text)
    chain = tuple(who for who in (found.get("first"), found.get("second")) if who)
    if topic := found.get("topic"):
        return KnowsQuestion(topic, chain)
    if clause := found.get("clause"):
        return StateQuestion(clause, chain)
    event = found.get("event") or ""
    when = BEFORE if event else BEGINNING if found.get("beginning") else NOW
    thing, aspect = found.get("thing") or "", found.get("aspect") or CONTAINER
    return WhereQuestion(thing, chain, ROOM if aspect == "room" else CONTAINER, when, event)
