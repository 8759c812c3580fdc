"""The words of OpenToM-style narratives: places, wishes and ways of telling the same plot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.tom.generate.names import NAMES, VILLAGE, WORKPLACE, Names
from pipeline.tom.generate.styles import BENCHMARK

MORE, LESS = "more accessible", "less accessible"


@dataclass(frozen=True)
class NewPlace:
    """Where a thing may be moved to, and what that does to how easy it is to reach.

    Attributes:
        name: The place; ``{mover}`` stands for the mover.
        for_mover: What it means for the mover.
        for_observer: What it means for the observer.
        aim: Why somebody would move a thing there.
    """

    name: str
    for_mover: str
    for_observer: str
    aim: str


NEW_PLACES = (
    NewPlace("middle of the table", MORE, MORE, "put it within easy reach of everybody"),
    NewPlace("open shelf by the door", MORE, MORE, "let everybody find it at once"),
    NewPlace("top of the tall wardrobe", LESS, LESS, "keep it out of everybody's reach"),
    NewPlace("locked crate under the floor", LESS, LESS, "put it where nobody could get at it"),
    NewPlace("{mover}'s own backpack", MORE, LESS, "have it always at hand"),
    NewPlace("{mover}'s locked desk", MORE, LESS, "keep it for nobody else"),
)

LIKES, HATES, INDIFFERENT = "likes", "hates", "does not care about"


@dataclass(frozen=True)
class Telling:
    """One way of telling a plot; every sentence is a template.

    ``{mover}``, ``{observer}``, ``{thing}``, ``{room}``, the places ``{first}`` and ``{last}``, and
    ``{aim}`` are filled in. ``order`` lists the parts in the order in which they are told.
    """

    names: Names
    order: tuple[str, ...]
    parts: Mapping[str, str]


# Parts: wish (the observer's preference) by kind; meet; found; then one of seen, glimpsed (seen
# without the mover's knowledge), missed (absent) or overlooked (present, but not looking).
TELLINGS: Mapping[str, Telling] = {
    BENCHMARK: Telling(
        NAMES,
        ("wish", "meet", "found", "event"),
        {
            "likes": "{observer} was fond of the {thing}, as everybody knew.",
            "hates": "{observer} could not stand the {thing}, as everybody knew.",
            "does not care about": "{observer} had no feelings about the {thing} either way.",
            "meet": "One afternoon {mover} and {observer} came into the {room} together.",
            "found": "There they both saw the {thing} in the {first}.",
            "seen": "{mover}, who wanted to {aim}, carried the {thing} over to the {last}. "
            "{observer} watched, and {mover} gave {observer} a nod on the way.",
            "glimpsed": "{observer} went outside. {mover}, who wanted to {aim}, carried the "
            "{thing} over to the {last}. {mover} felt alone with it, but {observer} saw everything "
            "through the window.",
            "missed": "{observer} went outside and did not come back. {mover}, who wanted to "
            "{aim}, carried the {thing} over to the {last}.",
            "overlooked": "{mover}, who wanted to {aim}, carried the {thing} over to the {last}. "
            "{mover} took it that {observer} was watching, but {observer} was deep in a book and "
            "noticed nothing.",
        },
    ),
    "prose": Telling(
        VILLAGE,
        ("meet", "found", "wish", "event"),
        {
            "likes": "Nothing pleased {observer} more than the {thing}.",
            "hates": "The mere sight of the {thing} spoiled the day for {observer}.",
            "does not care about": "The {thing} meant nothing at all to {observer}.",
            "meet": "It was raining, so {observer} and {mover} had taken shelter in the {room}.",
            "found": '"Look," said {mover}, and pointed to the {first}: the {thing} lay in it. '
            '"I see it," said {observer}.',
            "seen": 'To {aim}, {mover} said aloud, "I am taking the {thing} to the {last}," and '
            "did so under the eyes of {observer}.",
            "glimpsed": "{observer} said goodbye and left. To {aim}, {mover} took the {thing} to "
            "the {last}, sure of being unobserved. Yet {observer} had stopped at the keyhole and "
            "missed nothing.",
            "missed": "{observer} said goodbye and left for home. To {aim}, {mover} took the "
            "{thing} to the {last} when the steps outside had died away.",
            "overlooked": "To {aim}, {mover} took the {thing} to the {last} and believed that "
            "{observer} was following it all; but {observer} had fallen asleep by the stove and "
            "saw none of it.",
        },
    ),
    "log": Telling(
        WORKPLACE,
        ("event", "meet", "found", "wish"),
        {
            "likes": "For the record: {observer} values the {thing} highly.",
            "hates": "For the record: {observer} has asked many times to be rid of the {thing}.",
            "does not care about": "For the record: the {thing} is of no concern to {observer}.",
            "meet": "Earlier, at 9:00, {mover} and {observer} had both come to the {room}.",
            "found": "At 9:05 both of them had seen the {thing} in the {first}.",
            "seen": "At 9:30 {mover} took the {thing} to the {last}, in order to {aim}. {observer} "
            "stood beside {mover}, and they spoke about it.",
            "glimpsed": "At 9:30 {mover} took the {thing} to the {last}, in order to {aim}. "
            "{observer} had gone at 9:20, and {mover} knew of no witness; but {observer} was "
            "following it on a camera.",
            "missed": "At 9:30 {mover} took the {thing} to the {last}, in order to {aim}. "
            "{observer} had gone at 9:20 and was not told.",
            "overlooked": "At 9:30 {mover} took the {thing} to the {last}, in order to {aim}, and "
            "reports that {observer} looked on. {observer} was present, but on the phone and "
            "turned to the wall, and did not notice.",
        },
    ),
}
