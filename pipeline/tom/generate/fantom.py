"""FANToM-style conversations: somebody steps out, misses what is told, and comes back.

Structure and question kinds follow FANToM (Kim et al. 2023, skywalker023/fantom): for what was
told, a fact question; belief questions of first and second order with a right and a wrong
alternative; who can answer it and who knows the information, as lists and yes/no. Nobody repeats
what was told, so whoever was absent does not know it. Gold answers come from the engine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

from pipeline.tom.belief import Beliefs, beliefs
from pipeline.tom.generate.fantom_text import MANNERS, SUBJECTS, Manner, Subject
from pipeline.tom.generate.item import (
    CounterfactualPair,
    GeneratedItem,
    GeneratedQuestion,
)
from pipeline.tom.generate.pair import LEAVES
from pipeline.tom.generate.styles import BENCHMARK
from pipeline.tom.observation import TOPIC, Chain
from pipeline.tom.rules import EXPLORE_TOM_PLAIN
from pipeline.tom.story import Discuss, Enter, Event, Exit, Story

_ROOM = "conversation"


@dataclass(frozen=True)
class FantomSettings:
    """Settings of a generated conversation.

    Attributes:
        people: Participants, 3 to 5.
        told: Facts told, 2 to 4; one of them in the absence of somebody.
        full_context: Show the whole conversation, or (short context) only the part in which
            somebody leaves.
    """

    people: int = 3
    told: int = 3
    full_context: bool = True


@dataclass(frozen=True, slots=True)
class Fact:
    """Something told by somebody."""

    speaker: str
    subject: Subject
    value: str

    @property
    def key(self) -> str:
        return f"{self.speaker} on {self.subject.topic}"

    def words(self, template: str) -> str:
        return template.format(who=self.speaker, what=self.value)


_Line = tuple[Event | None, str, str]
"""(event, speaker, words)."""


@dataclass(frozen=True, slots=True)
class _Chatter:
    """Speakers of passing remarks: before the decisive part, during an absence, at the end."""

    before: tuple[str, ...] = ()
    meanwhile: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Plan:
    """The content of a conversation.

    Attributes:
        leaver: Who is out for a while.
        facts: In the order told.
        missed: Index of the fact told while the leaver is out, or just before.
    """

    people: list[str]
    leaver: str
    facts: list[Fact]
    missed: int

    def fork(self) -> Random:
        """A random source for choices that decide no answer, equal for both twins."""
        told = [(fact.key, fact.value) for fact in self.facts]
        return Random(f"{self.people} {self.leaver} {told} {self.missed}")


@dataclass(frozen=True, slots=True)
class _Conversation:
    """A conversation written down; ``part`` is the line with which the short context begins."""

    plan: _Plan
    lines: list[_Line]
    part: int


def generate(settings: FantomSettings, random: Random, style: str = BENCHMARK) -> GeneratedItem:
    """Draw a conversation with the questions on a fact that somebody missed, and on another."""
    plan = _draw(settings, MANNERS[style], random)
    return _item(_conversation(plan, MANNERS[style], hidden=True), settings, style, random)


def pair(settings: FantomSettings, random: Random, style: str = BENCHMARK) -> CounterfactualPair:
    """Draw a conversation in which somebody leaves before a fact is told, and its twin."""
    plan = _draw(settings, MANNERS[style], random)
    seed = random.getrandbits(32)
    observed, hidden = (
        _item(
            _conversation(plan, MANNERS[style], hidden),
            settings,
            style,
            Random(seed),  # both twins offer the same alternatives in the same order
        )
        for hidden in (False, True)
    )
    return CounterfactualPair(observed, hidden, plan.leaver, LEAVES)


def _draw(settings: FantomSettings, manner: Manner, random: Random) -> _Plan:
    people = random.sample(manner.names.agents, settings.people)
    leaver = random.choice(people)
    others = [person for person in people if person != leaver]
    facts = [
        Fact(random.choice(others), subject, random.choice(subject.values))
        for subject in random.sample(SUBJECTS, settings.told)
    ]
    return _Plan(people, leaver, facts, random.randrange(1, settings.told))


def _conversation(plan: _Plan, manner: Manner, hidden: bool) -> _Conversation:
    """Write the conversation; if not ``hidden``, the leaver leaves after the fact instead.

    Random people have the first word and the fewest lines of the part in which the fact is told, so
    that neither gives away who missed it.
    """
    bare = _written(plan, manner, hidden, _Chatter())
    chatter = _chatter(plan, Counter(who for _, who, _ in bare.lines[bare.part :]))
    return _written(plan, manner, hidden, chatter)


def _chatter(plan: _Plan, spoken: Mapping[str, int]) -> _Chatter:
    """Passing remarks after which exactly one person speaks least."""
    random = plan.fork()
    first, quiet = random.choice(plan.people), random.choice(plan.people)
    least = spoken.get(quiet, 0) + (first == quiet)
    before: list[str] = []
    meanwhile: list[str] = []
    after: list[str] = []
    for who in plan.people:
        missing = 0 if who == quiet else least + 1 - spoken.get(who, 0) - (first == who)
        for _ in range(missing):
            slots = [before, after] if who == plan.leaver else [before, meanwhile, after]
            random.choice(slots).append(who)
    for words in (before, meanwhile, after):
        random.shuffle(words)
    return _Chatter((first, *before), tuple(meanwhile), tuple(after))


def _written(plan: _Plan, manner: Manner, hidden: bool, chatter: _Chatter) -> _Conversation:
    people, leaver, random = plan.people, plan.leaver, plan.fork()
    before, meanwhile, after = (
        [(None, who, random.choice(manner.passing)) for who in said]
        for said in (chatter.before, chatter.meanwhile, chatter.after)
    )
    lines: list[_Line] = [(Enter(tuple(people), _ROOM), people[0], manner.opening)]
    leaves = (Exit(leaver, _ROOM), leaver, manner.leave)
    part = 0
    for index, fact in enumerate(plan.facts):
        if index != plan.missed:
            lines += _telling(fact, "", people, manner)
            continue
        part = len(lines)
        told = list(_telling(fact, leaver, people, manner))
        lines += [*before, *((leaves, *told) if hidden else (*told, leaves)), *meanwhile]
        lines.append((Enter((leaver,), _ROOM), leaver, manner.joined))
        lines.append((None, fact.speaker, manner.welcome.format(other=leaver)))
    return _Conversation(plan, [*lines, *after], part)


def _telling(fact: Fact, absent: str, people: list[str], manner: Manner) -> Iterator[_Line]:
    listener = next(who for who in people if who not in (fact.speaker, absent))
    yield None, listener, manner.turn.format(topic=fact.subject.topic)
    yield Discuss(fact.speaker, None, fact.key), fact.speaker, fact.words(fact.subject.said)
    yield None, listener, manner.reply.format(other=fact.speaker)


def _item(
    talk: _Conversation, settings: FantomSettings, style: str, random: Random
) -> GeneratedItem:
    plan = talk.plan
    events: Story = tuple(event for event, _, _ in talk.lines if event is not None)
    known = beliefs(events, EXPLORE_TOM_PLAIN)
    asked = [*_questions(plan.facts[plan.missed], plan, known, random)]
    if settings.full_context:
        asked += _questions(plan.facts[plan.missed - 1], plan, known, random)
    shown = talk.lines if settings.full_context else talk.lines[talk.part :]
    manner = MANNERS[style]
    text = "\n".join(manner.line.format(who=who, words=words) for _, who, words in shown)
    context = "full" if settings.full_context else "short"
    return GeneratedItem(text, tuple(asked), events, style, f"{context} context")


def _questions(
    fact: Fact, talk: _Plan, known: Beliefs, random: Random
) -> Iterator[GeneratedQuestion]:
    question = f"{fact.words(fact.subject.asked)}?"
    answer = f"{fact.words(fact.subject.answer)}."
    yield GeneratedQuestion(question, answer, 0, "fact")
    for chain in _chains(fact, talk):
        yield _belief(fact, chain, talk.leaver, known, random)
    knowing = [who for who in talk.people if known.of((who,), fact.key, TOPIC)]
    names = ", ".join(knowing)
    target, information = f"Target: {question}", f"Information: {question} {answer}"
    all_names = tuple(talk.people)
    yield GeneratedQuestion(
        f"{target}\nList all the characters who know the precise correct answer to this question.",
        names,
        1,
        "tom:answerability:list",
        all_names,
    )
    yield GeneratedQuestion(
        f"{information}\nList all the characters who know this information.",
        names,
        1,
        "tom:info_accessibility:list",
        all_names,
    )
    for who in talk.people:
        said = "yes" if who in knowing else "no"
        knows = f"Does {who} know the precise correct answer to this question?"
        yield GeneratedQuestion(
            f"{target}\n{knows} Answer yes or no.", said, 1, "tom:answerability:binary"
        )
        yield GeneratedQuestion(
            f"{information}\nDoes {who} know about this information? Answer yes or no.",
            said,
            1,
            "tom:info_accessibility:binary",
        )


def _chains(fact: Fact, talk: _Plan) -> tuple[Chain, ...]:
    """Ask about the leaver and a listener, and what each thinks of the other."""
    listener = next(who for who in talk.people if who not in (fact.speaker, talk.leaver))
    return (talk.leaver,), (listener,), (talk.leaver, listener), (listener, talk.leaver)


def _belief(
    fact: Fact, chain: Chain, leaver: str, known: Beliefs, random: Random
) -> GeneratedQuestion:
    """Ask what somebody believes; the alternatives are to know it and to be unaware of it.

    The unaware one of two people depends on who left, not on what they missed, so that both twins
    offer the same alternatives.
    """
    about = fact.words(fact.subject.indirect)
    content = fact.words(fact.subject.answer)
    who = chain[0]
    if len(chain) == 1:
        text = f"What does {who} believe about {about}?"
        knows, unaware = f"{who} believes that {content}.", f"{who} does not know {about}."
    else:
        other = chain[1]
        text = f"What does {who} think that {other} believes about {about}?"
        knows = f"{who} thinks that {other} believes that {content}."
        unaware = f"{who} thinks that {other} does not know {about}."
        if who == leaver:
            unaware = f"{who} does not know what {other} believes about {about}."
    accessible = known.of(chain, fact.key, TOPIC) is not None
    choices = [knows, unaware]
    random.shuffle(choices)
    order = "first-order" if len(chain) == 1 else "second-order"
    kind = f"tom:belief:{'accessible' if accessible else 'inaccessible'}:{order}"
    answer = knows if accessible else unaware
    return GeneratedQuestion(text, answer, len(chain), kind, tuple(choices))
