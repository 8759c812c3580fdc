"""OpenToM-style narratives: somebody with a wish moves a thing, and another may see it or not.

The plot and the 23 questions are those of OpenToM (Xu et al. 2024, seacowx/OpenToM): coarse and
fine location, fullness and accessibility, first and second order, and attitude. Unlike upstream's
narratives, these say whether the mover noticed being seen, so that every question has an answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from pipeline.tom.belief import Beliefs, beliefs
from pipeline.tom.generate.item import (
    CounterfactualPair,
    GeneratedItem,
    GeneratedQuestion,
)
from pipeline.tom.generate.names import plain
from pipeline.tom.generate.opentom_text import (
    HATES,
    INDIFFERENT,
    LESS,
    LIKES,
    MORE,
    NEW_PLACES,
    TELLINGS,
    NewPlace,
    Telling,
)
from pipeline.tom.generate.pair import LEAVES, SEES
from pipeline.tom.generate.styles import BENCHMARK, STYLE_NAMES
from pipeline.tom.observation import Chain
from pipeline.tom.question import WhereQuestion
from pipeline.tom.rules import HI_TOM
from pipeline.tom.story import Aside, Enter, Event, Exit, Move, Place, Story

SEEN, GLIMPSED, MISSED, OVERLOOKED = "seen", "glimpsed", "missed", "overlooked"
WITNESS = (SEEN, GLIMPSED, MISSED, OVERLOOKED)
"""The observer looks on openly; looks on in secret; is away; is present but does not look."""
_LEFT_AFTER, _LEFT_BEFORE = "left after", "left before"
_STRANGER_GLIMPSED, _STRANGER_OVERLOOKED = "stranger glimpsed", "stranger overlooked"
_OBSERVER_GLIMPSED, _OBSERVER_OVERLOOKED = "observer glimpsed", "observer overlooked"
_TWINS = (
    (_LEFT_AFTER, _LEFT_BEFORE, LEAVES),
    (_OBSERVER_GLIMPSED, _STRANGER_GLIMPSED, SEES),
    (_STRANGER_OVERLOOKED, _OBSERVER_OVERLOOKED, SEES),
)
"""What is told of the observer who notices, of the one who does not, and in what they differ."""
_HAPPENS = {
    SEEN: ("move", "seen"),
    GLIMPSED: ("leave", "move", "glimpsed"),
    MISSED: ("leave", "move", "missed"),
    OVERLOOKED: ("move", "overlooked"),
    _LEFT_AFTER: ("open", "move", "leave"),
    _LEFT_BEFORE: ("open", "leave", "move"),
    _OBSERVER_GLIMPSED: ("company", "both_leave", "move", "glimpsed"),
    _STRANGER_GLIMPSED: ("company", "both_leave", "move", "glimpsed"),
    _OBSERVER_OVERLOOKED: ("company", "move", "all_but"),
    _STRANGER_OVERLOOKED: ("company", "move", "all_but"),
}
"""The parts of a telling that say what happens."""
_ABOUT_THE_STRANGER = (_STRANGER_GLIMPSED, _STRANGER_OVERLOOKED)
_WISHES = (LIKES, HATES, INDIFFERENT)
_EQUAL = "equally accessible"
_LENGTH = (179, 17)
"""Words of a narrative, mean and spread; upstream's 596 have 194 and 20."""
_PARAGRAPH = "\n\n"
_BY_END = "by the end of the story?"


@dataclass(frozen=True)
class OpenTomSettings:
    """What kind of narrative to make.

    Attributes:
        witness: One of ``WITNESS``; None to draw one.
        wish: What the observer feels about the thing: "likes", "hates" or "does not care about";
            None to draw one.
    """

    witness: str | None = None
    wish: str | None = None

    def __post_init__(self) -> None:
        if self.witness not in (None, *WITNESS):
            raise ValueError(f"witness is {self.witness!r}; allowed: {WITNESS}")
        if self.wish not in (None, *_WISHES):
            raise ValueError(f"wish is {self.wish!r}; allowed: {_WISHES}")


@dataclass(frozen=True, slots=True)
class _Plot:
    mover: str
    observer: str
    stranger: str
    thing: str
    room: str
    first: str
    place: NewPlace
    wish: str

    @property
    def last(self) -> str:
        return self.place.name.format(mover=self.mover)


def generate(settings: OpenTomSettings, random: Random, style: str = BENCHMARK) -> GeneratedItem:
    """Draw one narrative with its 23 questions."""
    witness = settings.witness or random.choice(WITNESS)
    return _item(_draw(settings, random, style), witness, style)


def pair(settings: OpenTomSettings, random: Random, style: str = BENCHMARK) -> CounterfactualPair:
    """Draw a narrative whose observer notices the move, and its twin whose observer does not.

    The texts differ in where one sentence stands, or in one name. Either the observer leaves before
    the move, not after it, or it is the observer, not a stranger, who sees it in secret or misses
    it. The setting ``witness`` plays no part.
    """
    plot = _draw(settings, random, style)
    observed, hidden, intervention = random.choice(_TWINS)
    return CounterfactualPair(
        _item(plot, observed, style), _item(plot, hidden, style), plot.observer, intervention
    )


def _draw(settings: OpenTomSettings, random: Random, style: str) -> _Plot:
    if style not in TELLINGS:
        raise ValueError(f"unknown style {style!r}; allowed: {', '.join(STYLE_NAMES)}")
    names = TELLINGS[style].names
    mover, observer = random.sample(names.agents, 2)
    plot = _Plot(
        mover,
        observer,
        "",
        plain(random.choice(names.objects)),
        plain(random.choice(names.rooms)),
        plain(random.choice(names.containers)),
        random.choice(NEW_PLACES),
        settings.wish or random.choice(_WISHES),
    )
    others = [agent for agent in names.agents if agent not in (mover, observer)]
    return replace(plot, stranger=random.choice(others))


def _item(plot: _Plot, told: str, style: str) -> GeneratedItem:
    events = _events(plot, told)
    questions = tuple(_questions(plot, beliefs(events, HI_TOM)))
    return GeneratedItem(_tell(plot, told, style), questions, events, style, told)


def _events(plot: _Plot, told: str) -> Story:
    """What happens; ``told`` is a key of ``_HAPPENS``."""
    parts = _HAPPENS[told]
    present = (plot.mover, plot.observer, *((plot.stranger,) if "company" in parts else ()))
    events: list[Event] = [Enter(present, plot.room), Place(plot.thing, plot.first, plot.room)]
    for part in parts:
        match part:
            case "move":
                events.append(_move(plot, told))
            case "leave" | "both_leave":
                events += [Exit(who, plot.room) for who in present[1:]]
    return tuple(events)


def _move(plot: _Plot, told: str) -> Event:
    move = Move(plot.mover, plot.thing, plot.last)
    if "glimpsed" in _HAPPENS[told]:
        return Aside(move, peeking=(_whom(plot, told),))
    if {"overlooked", "all_but"} & set(_HAPPENS[told]):
        return Aside(move, distracted=(_whom(plot, told),))
    return move


def _whom(plot: _Plot, told: str) -> str:
    """Who looks on in secret, or misses what happens."""
    return plot.stranger if told in _ABOUT_THE_STRANGER else plot.observer


def _tell(plot: _Plot, told: str, style: str) -> str:
    telling, random = TELLINGS[style], Random(repr(plot))  # twins tell the same in the same words
    fields = {
        "mover": plot.mover,
        "observer": plot.observer,
        "stranger": plot.stranger,
        "who": _whom(plot, told),
        "thing": plot.thing,
        "room": plot.room,
        "first": plot.first,
        "last": plot.last,
        "aim": plot.place.aim,
        "left": "9:40" if told == _LEFT_AFTER else "9:20",
    }
    words = {part: random.choice(said) for part, said in telling.parts.items()}
    happens = _HAPPENS[_LEFT_BEFORE if telling.timed and told == _LEFT_AFTER else told]
    chosen = {"wish": (plot.wish,), "event": happens}
    parts = [part for slot in random.choice(telling.orders) for part in chosen.get(slot, (slot,))]
    sentences = _at_length([words[part] for part in parts], telling, random)
    text = _paragraphs([sentence.format_map(fields) for sentence in sentences], random)
    # A place named after its owner stands without an article.
    return text.replace(f"the {plot.mover}'s", f"{plot.mover}'s")


def _at_length(sentences: list[str], telling: Telling, random: Random) -> list[str]:
    """Put asides between the sentences until the narrative is as long as one of upstream's."""
    told = [*sentences, random.choice(telling.endings)]
    wanted = random.gauss(*_LENGTH)
    for aside in random.sample(telling.asides, len(telling.asides)):
        if sum(len(sentence.split()) for sentence in told) >= wanted:
            break
        told.insert(random.randrange(len(told)), aside)
    return told


def _paragraphs(sentences: list[str], random: Random) -> str:
    breaks = {random.randrange(2, len(sentences) - 1) for _ in range(3)}
    return "".join(
        f"{'' if not n else _PARAGRAPH if n in breaks else ' '}{sentence}"
        for n, sentence in enumerate(sentences)
    )


def _questions(plot: _Plot, known: Beliefs) -> Iterator[GeneratedQuestion]:
    mover, observer = plot.mover, plot.observer
    yield from _narrated(plot)
    for chain in ((mover,), (observer,), (mover, observer), (observer, mover)):
        yield from _located(plot, chain, known)
        yield from _multihop(plot, chain, known)
    yield GeneratedQuestion(
        f"As {observer}, what is your attitude towards {mover}'s action of moving {plot.thing} "
        f"from {plot.first} to {plot.last}, assuming that you observed it?",
        _attitude(plot),
        None,
        "attitude",
        ("positive", "neutral", "negative"),
    )


def _narrated(plot: _Plot) -> Iterator[GeneratedQuestion]:
    where = f"From narrator's perspective, where is {plot.thing} located"
    places = (plot.first, plot.last)
    yield GeneratedQuestion(f"{where} {_BY_END}", plot.last, 0, "location-fo", places)
    yield GeneratedQuestion(
        f"{where} in the beginning of the story?", plot.first, 0, "location-fo", places
    )


def _located(plot: _Plot, chain: Chain, known: Beliefs) -> Iterator[GeneratedQuestion]:
    thing, place = plot.thing, known.of(chain, plot.thing) or ""
    who, kind = f"From {chain[0]}'s perspective,", f"location-{_order_name(chain)}"
    if len(chain) == 1:
        coarse = f"{who} is the {thing} in its initial location {_BY_END}"
        fine = f"{who} where is the {thing} located precisely {_BY_END}"
    else:
        believes = f"{chain[1]} think that the {thing} is"
        coarse = f"{who} does {believes} in its initial location {_BY_END}"
        fine = f"{who} where precisely does {believes} located {_BY_END}"
    asked, order = WhereQuestion(thing, chain), len(chain)
    still = ((plot.first, "Yes"), (plot.last, "No"))
    yield GeneratedQuestion(
        coarse, dict(still)[place], order, kind, ("Yes", "No"), asked=asked, follows=still
    )
    yield GeneratedQuestion(fine, place, order, kind, (plot.first, plot.last), asked=asked)


def _multihop(plot: _Plot, chain: Chain, known: Beliefs) -> Iterator[GeneratedQuestion]:
    asked = WhereQuestion(plot.thing, chain)
    place = known.of(chain, plot.thing) or ""
    who, kind = f"From {chain[0]}'s perspective,", f"multihop-{_order_name(chain)}"
    for container, changed in ((plot.first, "less full"), (plot.last, "more full")):
        if len(chain) == 1:
            text = f"{who} how does {container}'s fullness change {_BY_END}"
        else:
            text = f"{who} how does {chain[1]} think {container}'s fullness would change {_BY_END}"
        follows = ((plot.first, "equally full"), (plot.last, changed))
        fullness = ("more full", "equally full", "less full")
        answer = dict(follows)[place]
        yield GeneratedQuestion(
            text, answer, len(chain), kind, fullness, asked=asked, follows=follows
        )
    whom = "" if len(chain) == 1 else f" for {chain[1]}"
    text = f"{who} how would {plot.thing}'s accessibility change{whom} {_BY_END}"
    reach = plot.place.for_mover if chain[-1] == plot.mover else plot.place.for_observer
    follows = ((plot.first, _EQUAL), (plot.last, reach))
    choices = (MORE, _EQUAL, LESS)
    answer = dict(follows)[place]
    yield GeneratedQuestion(text, answer, len(chain), kind, choices, asked=asked, follows=follows)


def _order_name(chain: Chain) -> str:
    return "fo" if len(chain) == 1 else "so"


def _attitude(plot: _Plot) -> str:
    """What the observer feels: about a liked thing coming nearer, a hated one going away."""
    if plot.wish == INDIFFERENT:
        return "neutral"
    nearer = plot.place.for_observer == MORE
    return "positive" if nearer == (plot.wish == LIKES) else "negative"
