"""Roles of words in belief claims, and the names of a story.

A word has one role. Words without a role are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, auto
from functools import cached_property
from types import MappingProxyType


class Role(IntEnum):
    """The function of a word in a sentence."""

    # What stories are about; these are found by the vocabulary of a story.
    PERSON = auto()
    OBJECT = auto()
    CONTAINER = auto()
    ROOM = auto()
    INVENTED = auto()  # a place that the story does not have
    # Beliefs.
    BELIEVE = auto()  # has a believer before it and a claim after it
    UNAWARE = auto()  # the same, negated
    BELIEF = auto()  # a noun for one, after its owner: Ann's belief
    VIEW = auto()  # opens one: from her perspective
    LOOK = auto()  # has a believer before it and a place after it: Ann will look in
    ACCORDING = auto()  # the same: according to Ann
    KNOWN = auto()  # makes a location one of a belief: Ann's last known location
    # Events.
    PERCEIVE = auto()
    SPEAK = auto()
    MOVE = auto()
    GO = auto()
    SEEN = auto()  # makes a location one of an event: the last seen location
    # Where things are.
    BE = auto()
    WAS = auto()  # the same in the past
    LOCATION = auto()
    IN = auto()
    TO = auto()
    AWAY = auto()
    ABOUT = auto()
    WHERE = auto()
    THERE = auto()
    WITH = auto()
    # When.
    FORMER = auto()  # says that a sentence is about a former moment
    MOMENT = auto()  # at this point
    FINAL = auto()  # says that it is about the end
    NOW = auto()  # at the moment that the response has come to
    WHEN = auto()  # opens a clause about a moment
    # Clauses.
    BREAK = auto()
    IF = auto()
    WHETHER = auto()
    THAT = auto()
    AND = auto()
    OR = auto()
    NOT = auto()
    FALSE = auto()
    TRUE = auto()
    # Who and what.
    HE = auto()
    HIS = auto()
    THEY = auto()
    THEIR = auto()
    WHO = auto()
    WHAT = auto()
    HAVE = auto()
    WE = auto()  # nobody of the story
    ALL = auto()  # people of the story, none by name
    EVERY = auto()  # before a noun for people: all agents
    AGENT = auto()  # such a noun
    EXCEPT = auto()
    RESPECTIVELY = auto()
    IT = auto()
    FOR = auto()
    HINT = auto()  # after "no": what follows is not said
    HEDGE = auto()  # leaves open whether its clause is so
    THIS = auto()  # what was said last
    # No claims in these sentences.
    ANSWER = auto()
    QUESTION = auto()
    # Signs.
    COMMA = auto()
    COLON = auto()
    ASKED = auto()  # a question mark
    SKIP = auto()  # may stand between any two words


_WORDS: Mapping[Role, str] = {
    Role.BELIEVE: "think thinks thinking thought believe believes believing believed know knows "
    "knowing knew assume assumes assuming assumed conclude concludes concluded infer infers "
    "inferred expect expects expected suppose supposes supposed suspect suspects suspected "
    "remember remembers remembering remembered recall recalls recalled imagine imagines imagined "
    "imagining supposing "
    "guess guesses understand understands understood realize realizes realise realises realized "
    "perceive perceives deduce deduces deduced presume presumes presumed learn learns learned "
    "discover discovers discovered aware convinced certain sure confident",
    Role.UNAWARE: "unaware ignorant doubt doubts doubted disbelieves forgets forgot forgotten",
    Role.BELIEF: "belief beliefs knowledge thoughts assumption memory opinion",
    Role.VIEW: "perspective view viewpoint mind",
    Role.LOOK: "look looks looking search searches searching check",
    Role.ACCORDING: "according",
    Role.KNOWN: "known perceived",
    Role.PERCEIVE: "see sees saw seeing witness witnesses witnessed witnessing observe observes "
    "observed observing notice notices noticed noticing watch watches watched watching find finds "
    "found hear hears heard hearing looked searched checked",
    Role.SPEAK: "claim claims claimed claiming tell tells told telling say says said saying state "
    "states stated stating inform informs informed mention mentions mentioned announce announces "
    "announced report reports reported lie lies lied lying share shares shared assert "
    "asserts asserted declare declares declared insist insists insisted argue argues argued deny "
    "denies denied pretend pretends pretended admit admits admitted explain explains explained "
    "whisper whispers whispered hint hints hinted suggested statement message",
    Role.MOVE: "move moves moved moving movement put puts putting places placed placing take "
    "takes took taking taken transfer transfers transferred transferring relocate relocates "
    "relocated relocating shift shifts shifted store stores stored hide hides hid bring brings "
    "brought return returns returned returning leave leaves left leaving",
    Role.GO: "exit exits exited exiting enter enters entered entering went go goes likes dislikes "
    "lost",
    Role.SEEN: "seen touched handled",
    Role.BE: "is are be being remain remains remaining stay stays staying ends end located rests",
    Role.WAS: "was were been remained stayed ended",
    Role.LOCATION: "location place position spot container whereabouts",
    Role.IN: "in inside at within on",
    Role.TO: "to into",
    Role.AWAY: "from near",
    Role.ABOUT: "of about",
    Role.WHERE: "where",
    Role.THERE: "there",
    Role.WITH: "with",
    Role.FORMER: "initially originally first beginning start starts started starting previously "
    "earlier initial original begins began formerly",
    Role.MOMENT: "point time moment stage",
    Role.FINAL: "finally eventually final really actually",
    Role.NOW: "now currently",
    Role.WHEN: "when while until before after once during upon",
    Role.BREAK: "because since so therefore thus hence but however although though whereas as "
    "which consequently meanwhile meaning mean means indicating indicate indicates implying "
    "imply implies suggesting suggest suggests then",
    Role.IF: "if unless",
    Role.WHETHER: "whether",
    Role.THAT: "that",
    Role.AND: "and",
    Role.OR: "or",
    Role.NOT: "not never no cannot neither nor without fail fails failed failing refuse refuses "
    "refused unable hardly nothing stop stops stopped cease ceases ceased "
    "far",
    Role.FALSE: "false incorrect untrue wrong misleading mistake mistaken inaccurate impossible "
    "unlikely",
    Role.TRUE: "true correct right accurate case",
    Role.HE: "he she",
    Role.HIS: "his her",
    Role.THEY: "they both",
    Role.THEIR: "their",
    Role.WHAT: "what wherever",
    Role.HAVE: "has have had having lack lacks lacked lacking",
    Role.WHO: "who whom whoever",
    Role.WE: "we i you us one",
    Role.ALL: "everyone everybody others rest else nobody none anyone someone somebody some "
    "characters people",
    Role.EVERY: "all every each other",
    Role.AGENT: "them agent agents character person persons individual individuals participant "
    "participants",
    Role.EXCEPT: "except excluding besides",
    Role.RESPECTIVELY: "respectively",
    Role.IT: "it",
    Role.FOR: "for",
    Role.THIS: "this these",
    Role.HINT: "indication evidence sign information",
    Role.HEDGE: "might may perhaps maybe possibly glance",
    Role.ANSWER: "answer",
    Role.QUESTION: "question",
    Role.SKIP: "the a an still also likely probably would will "
    "must could should does do did only just even same up own last",
}

ROLES: Mapping[str, Role] = MappingProxyType(
    {word: role for role, words in _WORDS.items() for word in words.split()}
)
"""Role by word in lower case."""


WORD = re.compile(r"[^\W_]+(?:['’][a-z]{1,2}\b)?")
"""A word of a text. Underscores separate words: "blue_crate" and "blue crate" are the same."""

DETERMINERS = frozenset({"the", "same", "a", "an"})
_NAME_WORDS = re.compile(r"[^\W_]+")

Name = tuple[tuple[str, ...], Role, str, bool]
"""(words in lower case, role, name as the story has it, whether the words are only its end).

"box" is the end of "red_box".
"""

Names = tuple[Name, ...]
"""Names that begin with the same word, the longest first."""


@dataclass(frozen=True)
class Vocabulary:
    """Names and text of a story, with places it need not have."""

    people: frozenset[str]
    objects: frozenset[str]
    containers: frozenset[str]
    rooms: frozenset[str] = frozenset()
    options: frozenset[str] = frozenset()
    story: str = ""

    @cached_property
    def everyone(self) -> tuple[str, ...]:
        return tuple(sorted(self.people))

    @cached_property
    def story_words(self) -> frozenset[str]:
        return frozenset(word.lower() for word in WORD.findall(self.story))

    @cached_property
    def heads(self) -> Mapping[tuple[str, ...], str]:
        """Container by the last words of its name, such as ``("box",)``; empty if ambiguous."""
        heads: dict[tuple[str, ...], str] = {}
        for name in self.containers:
            words = tuple(_NAME_WORDS.findall(name.lower()))
            for start in range(1, len(words)):
                heads[words[start:]] = "" if words[start:] in heads else name
        return heads

    @cached_property
    def names(self) -> Mapping[str, Names]:
        """Names by their first word in lower case."""
        begin: dict[str, list[Name]] = {}
        kinds = (
            (self.people, Role.PERSON),
            (self.objects, Role.OBJECT),
            (self.containers | self.options, Role.CONTAINER),
            (self.rooms - self.containers, Role.ROOM),
        )
        for names, role in kinds:
            for name in sorted(names):
                if words := tuple(word.lower() for word in _NAME_WORDS.findall(name)):
                    for first in {words[0], words[0].removesuffix("s")}:
                        begin.setdefault(first, []).append((words, role, name, False))
        for words, name in self.heads.items():
            if name and words[0] not in ROLES:
                begin.setdefault(words[0], []).append((words, Role.CONTAINER, name, True))
        return {w: tuple(sorted(n, key=lambda e: -len(e[0]))) for w, n in begin.items()}


def parts_of(word: str) -> tuple[str, str]:
    """Split off an apostrophe's suffix: ``("jack", "s")``."""
    if word.isalnum():
        return word, ""
    for mark in ("'", "’"):
        head, found, ending = word.partition(mark)
        if found:
            return head, ending
    return word, ""


def name_at(
    words: list[re.Match[str]],
    position: int,
    candidates: Names,
) -> tuple[int, Role, str] | None:
    """(words, role, name) of the longest name that begins here."""
    for parts, role, name, head in candidates:
        if head and not (position and words[position - 1].group().lower() in DETERMINERS):
            continue
        if role is Role.PERSON and not words[position].group()[0].isupper():
            continue
        if _stands_at(words, position, parts):
            return len(parts), role, name
    return None


def _stands_at(words: list[re.Match[str]], position: int, parts: tuple[str, ...]) -> bool:
    if position + len(parts) > len(words):
        return False
    for place, part in enumerate(parts, position):
        text = words[place].group().lower()
        if text != part and (words[place]["sign"] or not _same(parts_of(text)[0], part)):
            return False
    return True


def _same(word: str, part: str) -> bool:
    return word == part or (len(part) > 3 and part in (word + "s", word.removesuffix("s")))


_GENERIC = frozenset(
    {"room", "story", "house", "scene", "area", "way", "text", "possession", "hand", "hands"}
    | {"care", "custody", "middle", "past", "future", "end", "situation", "world", "head"}
)
"""Nouns after "in the" that are not places of things."""

_LONGEST = 3
_AFTER = frozenset({Role.AND, Role.BREAK, Role.WHEN, Role.IF, Role.NOW})
"""Roles that may follow a place."""


def begin_of_place(words: list[re.Match[str]], position: int) -> int:
    """The position of a name after "in", past any determiner."""
    named = position < len(words) and words[position].group().lower() in DETERMINERS
    return position + named


def place_made_up(
    words: list[re.Match[str]], start: int, vocabulary: Vocabulary
) -> tuple[int, str] | None:
    """(words, name) of an invented place that begins here, or None.

    "The garage", "green_suitcase": an unknown word with an article or an underscore, and nothing
    after it that could belong to it.
    """
    end = start + 1
    while end < len(words) and _is_unknown(words, end, vocabulary):
        end += 1
    name = tuple(match.group().lower() for match in words[start : min(end, start + _LONGEST)])
    if len(name) < end - start or name in vocabulary.heads or name[-1] in _GENERIC:
        return None
    goes_on = end < len(words) and not words[end]["sign"]
    after = words[end].group().lower() if goes_on else ""
    if goes_on and (after in vocabulary.names or ROLES.get(after) not in _AFTER):
        return None
    named = words[start - 1].group().lower() in DETERMINERS
    joined = words[start].string.startswith("_", words[start].end())
    return (len(name), "_".join(name)) if named or joined else None


def _is_unknown(words: list[re.Match[str]], position: int, vocabulary: Vocabulary) -> bool:
    """Neither the reader nor the story knows the word."""
    match = words[position]
    word = match.group().lower()
    if match["sign"] or word in ROLES:
        return False
    return name_at(words, position, vocabulary.names.get(word, ())) is None
