"""Topics and wording of FANToM-style conversations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.tom.generate.names import NAMES, VILLAGE, WORKPLACE, Names
from pipeline.tom.generate.styles import BENCHMARK


@dataclass(frozen=True)
class Subject:
    """Something a person tells about themselves; ``{who}`` is the speaker, ``{what}`` one value.

    Attributes:
        topic: The subject of the conversation.
        said: The utterance that tells it.
        asked: The question about it, beginning with a question word, without question mark.
        indirect: The same as a subordinate clause.
        answer: The answer as a sentence.
    """

    topic: str
    said: str
    asked: str
    indirect: str
    answer: str
    values: tuple[str, ...]


SUBJECTS = (
    Subject(
        "holidays",
        "Last summer I finally went to {what}, and I would go back tomorrow.",
        "Where did {who} go last summer",
        "where {who} went last summer",
        "{who} went to {what} last summer",
        ("Lisbon", "the Black Forest", "Iceland", "a lake in Finland", "Marrakesh"),
    ),
    Subject(
        "pets",
        "At home I have {what} that wakes me up at five every morning.",
        "What animal does {who} keep at home",
        "which animal {who} keeps at home",
        "{who} keeps {what} at home",
        ("a parrot", "an old greyhound", "two ferrets", "a one-eyed cat", "a hedgehog"),
    ),
    Subject(
        "work",
        "I have not told many people, but next month I start a job as {what}.",
        "What job will {who} start next month",
        "which job {who} will start next month",
        "{who} will start a job as {what} next month",
        ("a tram driver", "a school cook", "a beekeeper", "a court reporter", "a piano tuner"),
    ),
    Subject(
        "food",
        "The one dish I can cook without looking is {what}, my grandmother taught me.",
        "Which dish can {who} cook without looking",
        "which dish {who} can cook without looking",
        "{who} can cook {what} without looking",
        ("mushroom risotto", "lentil soup", "plum dumplings", "fish curry", "leek pie"),
    ),
    Subject(
        "music",
        "I have been learning {what} since January, my neighbours are very patient.",
        "What has {who} been learning to play since January",
        "what {who} has been learning to play since January",
        "{who} has been learning {what} since January",
        ("the cello", "the bagpipes", "the accordion", "the harp", "the trombone"),
    ),
    Subject(
        "books",
        "When I cannot sleep I read {what}, it never fails.",
        "What does {who} read when sleep will not come",
        "what {who} reads when sleep will not come",
        "{who} reads {what} when sleep will not come",
        ("old railway timetables", "sea stories", "cookery books", "sonnets", "a farm almanac"),
    ),
    Subject(
        "sports",
        "Would you believe that I once won a medal in {what}?",
        "In which sport did {who} once win a medal",
        "in which sport {who} once won a medal",
        "{who} once won a medal in {what}",
        ("archery", "rowing", "table tennis", "fencing", "orienteering"),
    ),
    Subject(
        "childhood",
        "As a child I was certain that I would become {what}.",
        "What did {who} want to become as a child",
        "what {who} wanted to become as a child",
        "{who} wanted to become {what} as a child",
        ("a lighthouse keeper", "an astronaut", "a magician", "a baker", "a volcano researcher"),
    ),
)


@dataclass(frozen=True)
class Manner:
    """The wording of a conversation; templates name ``{who}`` and ``{words}``.

    ``passing`` holds empty remarks that fit anywhere.
    """

    names: Names
    line: str
    opening: str
    turn: str
    reply: str
    leave: str
    joined: str
    welcome: str
    passing: tuple[str, ...]


MANNERS: Mapping[str, Manner] = {
    BENCHMARK: Manner(
        NAMES,
        "{who}: {words}",
        "Hello everyone, it is good to see you all.",
        "Shall we talk about {topic}? I always like to hear about that.",
        "Thank you for telling us, {other}. I did not expect that.",
        "Sorry, I have to step out for a moment. See you all later!",
        "I am back, sorry for that. What a day!",
        "Good to have you here again, {other}.",
        ("I see.", "Oh, nice.", "That is true.", "Same here.", "How funny!", "Quite so."),
    ),
    "prose": Manner(
        VILLAGE,
        '"{words}" said {who}.',
        "What a lovely evening to sit together!",
        "Now then, {topic}: who has a story?",
        "Well, {other}, that is news to me!",
        "Please go on without me, I must go out for a while!",
        "Here I am again, the door was open!",
        "Sit down with us, {other}!",
        ("Well, well!", "So it goes!", "Is there more tea?", "Indeed!", "Ha!", "Just so!"),
    ),
    "log": Manner(
        WORKPLACE,
        "<{who}> {words}",
        "hi all, can everybody hear me?",
        "next point on my list: {topic}. anyone?",
        "thanks {other}, noted.",
        "need to drop off the call, a parcel is at the door. bye for now",
        "rejoined, sorry about that",
        "welcome back {other}",
        ("ok", "right", "+1", "sure", "got it", "hm, ok"),
    ),
}
