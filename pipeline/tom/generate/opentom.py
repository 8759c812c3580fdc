"""OpenToM-style narratives: somebody with a wish moves a thing, and another may see it or not.

The plot and the 23 questions are those of OpenToM (Xu et al. 2024, seacowx/OpenToM): coarse and
fine location, fullness and accessibility, first and second order, and attitude. Unlike upstream's
narratives, these say whether the mover noticed being seen, so that every question has an answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from pipeline.tom.belief import Beliefs, beliefs
from pipeline.tom.generate.item import (
    CounterfactualPair,
    GeneratedItem,
    GeneratedQuestion,
)
from pipeline.tom.generate.opentom_text import (
    HATES,
    INDIFFERENT,
    LESS,
    LIKES,
    MORE,
    NEW_PLACES,
    TELLINGS,
    NewPlace,
)
from pipeline.tom.generate.styles import BENCHMARK, STYLE_NAMES
from pipeline.tom.observation import Chain
from pipeline.tom.rules import HI_TOM
from pipeline.tom.story import Aside, Enter, Event, Exit, Move, Place, Story

SEEN, GLIMPSED, MISSED, OVERLOOKED = "seen", "glimpsed", "missed", "overlooked"
WITNESS = (SEEN, GLIMPSED, MISSED, OVERLOOKED)
"""The observer looks on openly; looks on in secret; is away; is present but does not look."""
_WISHES = (LIKES, HATES, INDIFFERENT)
_EQUAL = "equally accessible"
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
    """Draw a narrative whose observer looks on, and its twin whose observer is away."""
    plot = _draw(settings, random, style)
    return CounterfactualPair(
        _item(plot, SEEN, style), _item(plot, MISSED, style), witness=plot.observer
    )


def _draw(settings: OpenTomSettings, random: Random, style: str) -> _Plot:
    if style not in TELLINGS:
        raise ValueError(f"unknown style {style!r}; allowed: {', '.join(STYLE_NAMES)}")
    names = TELLINGS[style].names
    mover, observer = random.sample(names.agents, 2)
    return _Plot(
        mover,
        observer,
        random.choice(names.objects),
        random.choice(names.rooms).replace("_", " "),
        random.choice(names.containers).replace("_", " "),
        random.choice(NEW_PLACES),
        settings.wish or random.choice(_WISHES),
    )


def _item(plot: _Plot, witness: str, style: str) -> GeneratedItem:
    events = _events(plot, witness)
    questions = tuple(_questions(plot, beliefs(events, HI_TOM)))
    return GeneratedItem(_tell(plot, witness, style), questions, events, style, witness)


def _events(plot: _Plot, witness: str) -> Story:
    events: list[Event] = [
        Enter((plot.mover, plot.observer), plot.room),
        Place(plot.thing, plot.first, plot.room),
    ]
    move = Move(plot.mover, plot.thing, plot.last)
    if witness in (GLIMPSED, MISSED):
        events.append(Exit(plot.observer, plot.room))
    if witness == GLIMPSED:
        events.append(Aside(move, peeking=(plot.observer,)))
    elif witness == OVERLOOKED:
        events.append(Aside(move, distracted=(plot.observer,)))
    else:
        events.append(move)
    return tuple(events)


def _tell(plot: _Plot, witness: str, style: str) -> str:
    telling = TELLINGS[style]
    fields = {
        "mover": plot.mover,
        "observer": plot.observer,
        "thing": plot.thing,
        "room": plot.room,
        "first": plot.first,
        "last": plot.last,
        "aim": plot.place.aim,
    }
    chosen = {"wish": plot.wish, "event": witness}
    parts = (telling.parts[chosen.get(part, part)] for part in telling.order)
    # A place named after its owner stands without an article.
    text = " ".join(part.format_map(fields) for part in parts)
    return text.replace(f"the {plot.mover}'s", f"{plot.mover}'s")


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
    still = "Yes" if place == plot.first else "No"
    yield GeneratedQuestion(coarse, still, len(chain), kind, ("Yes", "No"))
    yield GeneratedQuestion(fine, place, len(chain), kind, (plot.first, plot.last))


def _multihop(plot: _Plot, chain: Chain, known: Beliefs) -> Iterator[GeneratedQuestion]:
    moved = known.of(chain, plot.thing) == plot.last
    who, kind = f"From {chain[0]}'s perspective,", f"multihop-{_order_name(chain)}"
    for container, changed in ((plot.first, "less full"), (plot.last, "more full")):
        if len(chain) == 1:
            text = f"{who} how does {container}'s fullness change {_BY_END}"
        else:
            text = f"{who} how does {chain[1]} think {container}'s fullness would change {_BY_END}"
        answer = changed if moved else "equally full"
        fullness = ("more full", "equally full", "less full")
        yield GeneratedQuestion(text, answer, len(chain), kind, fullness)
    whom = "" if len(chain) == 1 else f" for {chain[1]}"
    text = f"{who} how would {plot.thing}'s accessibility change{whom} {_BY_END}"
    reach = plot.place.for_mover if chain[-1] == plot.mover else plot.place.for_observer
    answer = reach if moved else _EQUAL
    yield GeneratedQuestion(text, answer, len(chain), kind, (MORE, _EQUAL, LESS))


def _order_name(chain: Chain) -> str:
    return "fo" if len(chain) == 1 else "so"


def _attitude(plot: _Plot) -> str:
    """Return what the observer feels: about a liked thing coming nearer, a hated one going away."""
    if plot.wish == INDIFFERENT:
        return "neutral"
    nearer = plot.place.for_observer == MORE
    return "positive" if nearer == (plot.wish == LIKES) else "negative"
