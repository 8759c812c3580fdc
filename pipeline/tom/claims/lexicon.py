"""What the words of a response do in a belief claim.

A word has one role. Roles are what :mod:`pipeline.tom.claims.sentence` works on; words without a
role are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, auto
from types import MappingProxyType


class Role(IntEnum):
    """What a word does."""

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
"""The role of each word, in lower case."""
