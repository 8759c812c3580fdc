"""Telling events in a style, reading them back, and asking questions in its words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from pipeline.tom.generate.styles import Style, get_style
from pipeline.tom.parse.text import listed, names_in
from pipeline.tom.question import (
    BEFORE,
    BEGINNING,
    KnowsQuestion,
    Question,
    StateQuestion,
    WhereQuestion,
)
from pipeline.tom.story import (
    WAITING_ROOM,
    Action,
    Aside,
    Carry,
    Change,
    Claim,
    Discuss,
    Enter,
    Event,
    Exit,
    Move,
    Place,
    Present,
    Remark,
    Report,
    Stay,
    Story,
    agents_of,
)

_WAITING = {WAITING_ROOM: "waiting room"}
Fields = dict[str, str]
_CLOCK = re.compile(r"\[(\d\d):(\d\d)\] ")
_OPENING = 9 * 60  # stories told with times begin at nine


def render(events: Story, style: str) -> str:
    """Write one event a line."""
    chosen = get_style(style)
    people = frozenset(agents_of(events))
    lines = [sentence(event, chosen, people) for event in events]
    if chosen.backwards:
        lines = [f"{_clock(moment)}{line}" for moment, line in enumerate(lines)][::-1]
    return "\n".join(lines)


def _clock(moment: int) -> str:
    hours, minutes = divmod(_OPENING + moment, 60)
    return f"[{hours:02}:{minutes:02}] "


def sentence(event: Event, style: Style, people: frozenset[str] = frozenset()) -> str:
    """Write one event; the names in ``people`` take no article."""
    if isinstance(event, Remark):
        return event.text
    if not isinstance(event, Aside):
        kind, fields = _fields(event, people)
        return style.sentences[kind].format_map(fields)
    parts = [sentence(event.action, style, people)]
    if event.peeking:
        parts.append(style.sentences["peek"].format(agents=listed(event.peeking)))
    if event.distracted:
        parts.append(style.sentences["distract"].format(agents=listed(event.distracted)))
    return " ".join(parts)


def _fields(action: Action, people: frozenset[str]) -> tuple[str, Fields]:
    match action:
        case Enter(agents, room):
            return "enter", {"agents": listed(agents), "room": _WAITING.get(room, room)}
        case Present(agent, room):
            return "present", {"agent": agent, "room": room}
        case Exit(agent, room):
            return "exit", {"agent": agent, "room": room}
        case Place(thing, container, room):
            return "place", {"thing": thing, "container": container, "room": room}
        case Move(agent, thing, container):
            return "move", {"agent": agent, "thing": thing, "container": container}
        case Carry(agent, thing, room, None):
            return "carry_open", {"agent": agent, "thing": thing, "room": room}
        case Carry(agent, thing, room, left):
            return "carry", {"agent": agent, "thing": thing, "room": room, "left": left or ""}
        case Change(agent, thing, state):
            return "change", {"agent": agent, "thing": thing or "", "state": state}
        case Stay(agent, room):
            return "stay", {"agent": agent, "room": room}
        case Claim(agent, other, thing, container):
            said = {"agent": agent, "thing": thing, "container": container}
            return _addressed("claim", other, said)
        case Discuss(agent, other, topic):
            return _addressed("discuss", other, {"agent": agent, "topic": topic})
        case Report(agent, other, thing, _, place):
            named = thing if thing in people else f"the {thing}"
            return _addressed("report", other, {"agent": agent, "thing": named, "place": place})


def _addressed(kind: str, other: str | None, fields: Fields) -> tuple[str, Fields]:
    return (f"{kind}_one", {**fields, "other": other}) if other else (f"{kind}_all", fields)


def read(text: str, style: str) -> Story:
    """Parse a text of a style into events, in the order in which they happened.

    A sentence of no known form is a remark. The place in a report is a room if somebody enters it,
    else a container.
    """
    chosen = get_style(style)
    lines = [line for line in text.split("\n") if line]
    if chosen.backwards:
        lines = [_CLOCK.sub("", line) for line in sorted(lines)]
    events = [_read_line(line, chosen) for line in lines]
    rooms = {room for event in events for room in _rooms(event)}
    return tuple(_placed(event, rooms) for event in events)


def _read_line(line: str, style: Style) -> Event:
    peeking: tuple[str, ...] = ()
    distracted: tuple[str, ...] = ()
    if match := _pattern(style, "distract", suffix=True).search(line):
        line, distracted = line[: match.start()], names_in(match["agents"])
    if match := _pattern(style, "peek", suffix=True).search(line):
        line, peeking = line[: match.start()], names_in(match["agents"])
    for kind in style.sentences:
        if kind not in ("peek", "distract") and (match := _pattern(style, kind).fullmatch(line)):
            action = _action(kind, match.groupdict())
            return Aside(action, peeking, distracted) if peeking or distracted else action
    return Remark(line)


@cache
def _patterns(style: str, kind: str, suffix: bool) -> re.Pattern[str]:
    template = get_style(style).sentences[kind]
    pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+?)", re.escape(template))
    return re.compile(f" {pattern}$" if suffix else pattern)


def _pattern(style: Style, kind: str, suffix: bool = False) -> re.Pattern[str]:
    return _patterns(style.name, kind, suffix)


def _action(kind: str, found: Fields) -> Action:
    match kind:
        case "enter":
            room = WAITING_ROOM if found["room"] in _WAITING.values() else found["room"]
            return Enter(names_in(found["agents"]), room)
        case "present":
            return Present(found["agent"], found["room"])
        case "exit":
            return Exit(found["agent"], found["room"])
        case "place":
            return Place(found["thing"], found["container"], found["room"])
        case "move":
            return Move(found["agent"], found["thing"], found["container"])
        case "carry" | "carry_open":
            return Carry(found["agent"], found["thing"], found["room"], found.get("left"))
        case "change":
            return Change(found["agent"], found["thing"], found["state"])
        case "stay":
            return Stay(found["agent"], found["room"])
        case "claim_all" | "claim_one":
            return Claim(found["agent"], found.get("other"), found["thing"], found["container"])
        case "discuss_all" | "discuss_one":
            return Discuss(found["agent"], found.get("other"), found["topic"])
        case _:
            thing = found["thing"].removeprefix("the ")
            return Report(found["agent"], found.get("other"), thing, "container", found["place"])


def _rooms(event: Event) -> tuple[str, ...]:
    match event.action if isinstance(event, Aside) else event:
        case Enter(_, room) | Present(_, room) | Exit(_, room) | Carry(_, _, room):
            return (room,)
    return ()


def _placed(event: Event, rooms: set[str]) -> Event:
    match event:
        case Aside(Report() as report, peeking, distracted):
            return Aside(_told(report, rooms), peeking, distracted)
        case Report():
            return _told(event, rooms)
    return event


def _told(report: Report, rooms: set[str]) -> Report:
    aspect = "room" if report.place in rooms else "container"
    return Report(report.speaker, report.listener, report.object, aspect, report.place)


def ask(question: Question, style: str, name_aspect: bool = False) -> str:
    """Write a question; with ``name_aspect``, "In which room/container" in place of "Where"."""
    templates = get_style(style).questions
    match question:
        case WhereQuestion():
            return _ask_where(question, templates, name_aspect)
        case KnowsQuestion(topic, (first,)):
            return templates["knows"].format(first=first, topic=topic)
        case KnowsQuestion(topic, (first, second)):
            return templates["knows_nested"].format(first=first, second=second, topic=topic)
        case StateQuestion(clause, (first,)):
            return templates["state"].format(first=first, clause=clause)
        case StateQuestion(clause, (first, second)):
            return templates["state_nested"].format(first=first, second=second, clause=clause)
    raise ValueError(f"no style asks {question}")


def _ask_where(question: WhereQuestion, templates: Mapping[str, str], name_aspect: bool) -> str:
    where = f"In which {question.aspect}" if name_aspect else "Where"
    fields = {"where": where, "thing": question.object, "event": question.event.rstrip(".")}
    if question.when in (BEGINNING, BEFORE):
        return templates[question.when].format_map(fields)
    if not question.chain:
        return templates["where"].format_map(fields)
    first, *others = question.chain
    if not others:
        return templates["where_believed"].format_map({**fields, "first": first})
    chain = "".join(templates["nested_more"].format(agent=agent) for agent in others[:-1])
    chain += templates["nested"].format(agent=others[-1])
    return templates["where_nested"].format(
        where=where, thing=question.object, first=first, chain=chain
    )
