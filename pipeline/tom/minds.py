"""Minds: the belief engine with one faculty switched off.

Somebody who believes as the engine does sees what happens while they are there, misses what happens
while they are out, catches up when they return, hears what is said and knows whom to believe, and
nests what one agent thinks that another thinks. A *mind* lacks one of these faculties. On the
questions that it answers differently from the whole engine, a model's answers show which of the two
it follows. A mind without any faculty answers with the place where the object really is: that
tracks nobody, and is the rule *last*.

All minds are changes of the observations of one replay, so that many of them cost little.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from pipeline.tom.belief import Beliefs, beliefs
from pipeline.tom.observation import Chain, Observation
from pipeline.tom.question import WhereQuestion
from pipeline.tom.rules import Rules
from pipeline.tom.story import (
    Action,
    Aside,
    Carry,
    Claim,
    Enter,
    Move,
    Present,
    Remark,
    Report,
    Story,
    agents_of,
)

Observations = tuple[Observation, ...]
Noticed = Callable[[Story, Observations], Observations]
"""From the true observations of a story to those of a mind."""

SIGHT, ABSENCE, RETURN = "sees what happens", "knows who was out", "catches up on return"
PUBLIC, PRIVATE, CLAIMS = "hears public claims", "hears private claims", "hears claims"
LATER, TRUST = "hears later claims too", "knows whom to trust"
DEPTH, WHOSE = "nests beliefs", "knows whose belief is asked"

_NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Mind:
    """The engine's mind without one faculty.

    Attributes:
        lacks: The behaviour without it, as the predicate of a sentence about a model.
        noticed: Maps the true observations to the mind's.
        asked: Maps the chain asked about to the mind's.
    """

    faculty: str
    lacks: str
    noticed: Noticed = lambda _, observed: observed
    asked: Callable[[Chain], Chain] = lambda chain: chain


def _act(story: Story, moment: int) -> Action | Remark:
    event = story[moment]
    return event.action if isinstance(event, Aside) else event


def _moves_unseen(story: Story, observed: Observations) -> Observations:
    """Moves of the object are noticed by nobody."""
    return tuple(
        replace(each, group=_NOBODY, chains=frozenset(), aware=None)
        if isinstance(_act(story, each.moment), Move | Carry)
        else each
        for each in observed
    )


def _absence_unseen(story: Story, observed: Observations) -> Observations:
    """Everybody sees all that somebody sees."""
    everybody = frozenset(agents_of(story))
    return tuple(
        replace(each, group=everybody, aware=None) if each.real and each.group else each
        for each in observed
    )


def _returns_missed(story: Story, observed: Observations) -> Observations:
    """Whoever comes back to a room learns nothing by it."""
    been: set[tuple[str, str]] = set()
    returning: dict[int, frozenset[str]] = {}
    for moment in range(len(story)):
        match _act(story, moment):
            case Enter(agents, room):
                returning[moment] = frozenset(a for a in agents if (a, room) in been)
                been.update((agent, room) for agent in agents)
            case Present(agent, room) | Carry(agent, _, room):
                been.add((agent, room))
    kept = []
    for each in observed:
        back = returning.get(each.moment, _NOBODY)
        if not back:
            kept.append(each)
        elif entered := set(_entered(story, each.moment)) - back:
            group = each.group - back
            kept.append(replace(each, group=group if entered & group else _NOBODY))
    return tuple(kept)


def _entered(story: Story, moment: int) -> Iterable[str]:
    act = _act(story, moment)
    return act.agents if isinstance(act, Enter) else ()


def _unheard(public: bool, private: bool) -> Noticed:
    """Claims of a kind change no belief, not even what their speaker thinks of the hearers."""

    def noticed(story: Story, observed: Observations) -> Observations:
        def lost(each: Observation) -> bool:
            act = _act(story, each.moment)
            if not isinstance(act, Claim | Report):
                return False
            return public if act.listener is None else private

        return tuple(each for each in observed if not lost(each))

    return noticed


def _believing(trusts: Callable[[bool, int], bool]) -> Noticed:
    """Hearers trust by another convention.

    Args:
        trusts: From whether a hearer should believe a claim, and how many they have heard before,
            to whether they do.
    """

    def noticed(story: Story, observed: Observations) -> Observations:
        heard: dict[tuple[str, str], int] = {}
        changed = []
        for each in observed:
            act = _act(story, each.moment)
            if isinstance(act, Claim):
                chains = set[Chain]()
                for speaker, hearer in _heard(each, act.speaker):
                    before = heard.get((each.object, hearer), 0)
                    heard[each.object, hearer] = before + 1
                    chains.add((speaker, hearer))
                    if trusts((hearer,) in each.chains, before):
                        chains |= {(hearer,), (hearer, speaker)}
                each = replace(each, chains=frozenset(chains))
            changed.append(each)
        return tuple(changed)

    return noticed


def _heard(claim: Observation, speaker: str) -> list[tuple[str, str]]:
    """The speaker of a claim with each of its hearers, in a fixed order."""
    pairs = (chain for chain in claim.chains if len(chain) == 2 and chain[0] == speaker)
    return sorted((one, other) for one, other in pairs)


MINDS: Mapping[str, Mind] = {
    "moves unseen": Mind(
        SIGHT, "does not notice moves that an agent is there to see", _moves_unseen
    ),
    "absence unseen": Mind(
        ABSENCE, "takes everybody to see everything, also those who are out", _absence_unseen
    ),
    "returns missed": Mind(RETURN, "takes who returns to learn nothing by it", _returns_missed),
    "public claims ignored": Mind(
        PUBLIC, "ignores what is claimed in public", _unheard(public=True, private=False)
    ),
    "private claims ignored": Mind(
        PRIVATE, "ignores what is told in private", _unheard(public=False, private=True)
    ),
    "sight alone": Mind(
        CLAIMS, "tracks who sees what but ignores claims", _unheard(public=True, private=True)
    ),
    "first claim alone": Mind(
        LATER,
        "takes each agent to heed only the first claim that they hear",
        _believing(lambda should, before: should and before == 0),
    ),
    "everybody believed": Mind(
        TRUST,
        "assumes that every listener believes every claim",
        _believing(lambda should, before: True),
    ),
    "trust reversed": Mind(
        TRUST,
        "takes listeners to believe those whom they should doubt, and the reverse",
        _believing(lambda should, before: not should),
    ),
    "nobody believed": Mind(
        TRUST,
        "assumes that no listener believes a claim",
        _believing(lambda should, before: False),
    ),
    "two orders": Mind(DEPTH, "nests two beliefs at most", asked=lambda chain: chain[-2:]),
    "innermost belief": Mind(
        WHOSE, "answers with what the last agent asked about believes", asked=lambda c: c[-1:]
    ),
    "outermost belief": Mind(
        WHOSE, "answers with what the first agent asked about believes", asked=lambda c: c[:1]
    ),
    "chain reversed": Mind(
        WHOSE, "reads the chain of agents asked about backwards", asked=lambda c: c[::-1]
    ),
}
"""Every mind that lacks one faculty, by its name in verdicts."""

Lacking = tuple[str, ...]
"""Names of minds whose deficits are combined; ``()`` is the whole engine."""


def mind_name(lacking: Lacking) -> str:
    return " and ".join(lacking)


def answers_of_minds(
    events: Story, question: WhereQuestion, rules: Rules, minds: Iterable[Lacking]
) -> list[str | None]:
    """The answer of each mind; None where it has no belief.

    Args:
        events: The story.
        question: About the end of the story.
        rules: The benchmark's convention as a person reads it.
        minds: The deficits of each mind.
    """
    known = _minds_of(events, rules)
    found = []
    for lacking in minds:
        chain = question.chain
        for name in lacking:
            chain = MINDS[name].asked(chain)
        mind = _mind(known, events, _noticing(lacking))
        found.append(mind.of(chain, question.object, question.aspect))
    return found


_Minds = dict[Lacking, Beliefs]
"""The beliefs of minds about one story, by what they lack."""


@lru_cache(maxsize=64)  # several questions about a story usually follow each other
def _minds_of(events: Story, rules: Rules) -> _Minds:
    """The mind that lacks nothing; others are added when they are asked for."""
    return {(): beliefs(events, rules)}


def _mind(known: _Minds, events: Story, lacking: Lacking) -> Beliefs:
    if lacking not in known:
        before = _mind(known, events, lacking[:-1])
        known[lacking] = Beliefs(MINDS[lacking[-1]].noticed(events, before.observations))
    return known[lacking]


@cache
def _noticing(lacking: Lacking) -> Lacking:
    """The deficits that change what is observed, not whom a question is about."""
    return tuple(name for name in lacking if MINDS[name].faculty not in (DEPTH, WHOSE))


def combined(names: Sequence[str]) -> list[Lacking]:
    """Every pair of deficits of different faculties."""
    return [
        (one, other)
        for place, one in enumerate(names)
        for other in names[place + 1 :]
        if MINDS[one].faculty != MINDS[other].faculty
    ]
