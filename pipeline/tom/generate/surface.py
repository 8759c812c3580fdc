"""Telling events in a style, and asking questions in its words."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.tom.generate.styles import STYLES, Style
from pipeline.tom.parse.text import listed
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
_OPENING = 9 * 60  # stories told with times begin at nine


def render(events: Story, style: str) -> str:
    """Write one event a line."""
    chosen = STYLES[style]
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
        kind, fields = fields_of(event, people)
        return style.sentences[kind].format_map(fields)
    parts = [sentence(event.action, style, people)]
    if event.peeking:
        parts.append(style.sentences["peek"].format(agents=listed(event.peeking)))
    if event.distracted:
        parts.append(style.sentences["distract"].format(agents=listed(event.distracted)))
    return " ".join(parts)


def fields_of(action: Action, people: frozenset[str]) -> tuple[str, Fields]:
    """The template that tells an action, and what stands in it."""
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


def ask(question: Question, style: str, name_aspect: bool = False) -> str:
    """Write a question; with ``name_aspect``, "In which room/container" in place of "Where"."""
    templates = STYLES[style].questions
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
