"""Surface styles: the same events in other words, with other names, in another order.

A style is a table of sentence templates (``pipeline.tom.generate.surface``); from a sentence, its
template and what stands in it can be told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.tom.generate.names import VILLAGE, WORKPLACE, Names

BENCHMARK = "benchmark"
"""The style in the benchmark's own words, which each generator has."""

BRIEF = "brief"
"""Hi-ToM's events in fewer words (:mod:`pipeline.tom.generate.brief`), with its questions."""


@dataclass(frozen=True)
class Style:
    """Templates by kind of event and question.

    Attributes:
        names: The names its stories draw from.
        backwards: Tell the last event first; every sentence then begins with its time.
    """

    name: str
    names: Names
    sentences: Mapping[str, str]
    questions: Mapping[str, str]
    backwards: bool = False


PROSE = Style(
    "prose",
    VILLAGE,
    {
        "enter": "{agents} came into the {room}.",
        "present": "{agent} was in the {room} all along.",
        "exit": "{agent} walked out of the {room}.",
        "place": "In the {room}, the {thing} lay in the {container}.",
        "move": "{agent} took the {thing} and put it into the {container}.",
        "carry": "{agent} took the {thing} out of the {left} and carried it to the {room}.",
        "carry_open": "{agent} picked up the {thing} and carried it to the {room}.",
        "change": "With the {thing} in hand, {agent} {state}.",
        "stay": "{agent} stayed in the {room} for a while and touched nothing.",
        "claim_all": "Everybody heard {agent} say that the {thing} was in the {container}.",
        "claim_one": "{agent} whispered to {other} that the {thing} was in the {container}.",
        "discuss_all": "{agent} brought up the {topic} in front of everybody there.",
        "discuss_one": "{agent} took {other} aside and spoke about the {topic}.",
        "report_all": "{agent} let everybody know that {thing} was to be found in the {place}.",
        "report_one": "{agent} let only {other} know that {thing} was to be found in the {place}.",
        "peek": "Unnoticed by anybody, {agents} watched just this from outside.",
        "distract": "For that one moment {agents} looked away and missed it, which nobody noticed.",
    },
    {
        "where": "{where} is the {thing} in truth?",
        "where_believed": "{where}, in the mind of {first}, is the {thing}?",
        "where_nested": "{where}, in {first}'s idea of {chain}, is the {thing}?",
        "nested": "{agent}'s mind",
        "nested_more": "{agent}'s idea of ",
        "beginning": "{where} was the {thing} when it was first put somewhere?",
        "before": "{where} was the {thing} just before this happened: {event}?",
        "knows": "Has {first} heard about the {topic}? Answer yes or no.",
        "knows_nested": "As {first} sees it, has {second} heard about the {topic}? "
        "(knows about it / does not know about it)",
        "state": "Is {first} aware that the {clause}? Answer yes or no.",
        "state_nested": "As {first} sees it, is {second} aware that the {clause}? "
        "Answer yes or no.",
    },
)

LOG = Style(
    "log",
    WORKPLACE,
    {
        "enter": "arrival in the {room}: {agents}.",
        "present": "already in the {room}: {agent}.",
        "exit": "departure from the {room}: {agent}.",
        "place": "seen in the {room}, inside the {container}: the {thing}.",
        "move": "new place inside the {container} for the {thing}, by {agent}.",
        "carry": "the {thing} taken out of the {left} and over to the {room}, by {agent}.",
        "carry_open": "the {thing} taken over to the {room}, by {agent}.",
        "change": "work on the {thing}, by {agent}, who {state}.",
        "stay": "idle in the {room}: {agent}.",
        "claim_all": "announced to all by {agent}: the {thing} is inside the {container}.",
        "claim_one": "told to {other} alone by {agent}: the {thing} is inside the {container}.",
        "discuss_all": "topic raised before all in the room by {agent}: the {topic}.",
        "discuss_one": "topic raised with {other} alone by {agent}: the {topic}.",
        "report_all": "told to all in the room by {agent}: {thing} in the {place}.",
        "report_one": "told in private to {other} by {agent}: {thing} in the {place}.",
        "peek": "Secretly looking on at this alone: {agents}.",
        "distract": "Not attentive to this alone, unnoticed: {agents}.",
    },
    {
        "where": "{where} is the {thing} once all of this has happened?",
        "where_believed": "{where} would {first} go to fetch the {thing}?",
        "where_nested": "{where} does {first} expect {chain} the {thing}?",
        "nested": "{agent} to look for",
        "nested_more": "{agent} to expect ",
        "beginning": "{where} was the {thing} at the earliest time known?",
        "before": "{where} was the {thing} until the entry: {event}?",
        "knows": "Was {first} told of the {topic}? Answer yes or no.",
        "knows_nested": "What would {first} say of {second} and the {topic}? "
        "(knows about it / does not know about it)",
        "state": "Would {first} say that the {clause}? Answer yes or no.",
        "state_nested": "Would {first} expect {second} to say that the {clause}? Answer yes or no.",
    },
    backwards=True,
)

STYLES: Mapping[str, Style] = {style.name: style for style in (PROSE, LOG)}
STYLE_NAMES = (BENCHMARK, *STYLES)
