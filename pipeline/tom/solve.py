"""Solving: text in, answer out, with the sentences that decided it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pipeline.tom.belief import Beliefs, beliefs
from pipeline.tom.language import UPSTREAM, Language, get_language
from pipeline.tom.observation import Chain, Observation
from pipeline.tom.parse.text import ParsedStory
from pipeline.tom.question import (
    BEFORE,
    KnowsQuestion,
    Question,
    StateQuestion,
    WhereQuestion,
    asked_about,
)
from pipeline.tom.rules import Rules
from pipeline.tom.state import best_change


@dataclass(frozen=True, slots=True)
class Answer:
    """The implied answer.

    Attributes:
        answer: In the benchmark's words; None where the story implies none.
        reason: The sentences that decided, or why there is no answer.
    """

    answer: str | None
    reason: str


def solve(
    benchmark: str,
    story: str,
    question: str,
    choices: Sequence[str] | str | None = None,
    rules: Rules | None = None,
) -> Answer:
    """Answer a question about a story of ``hi_tom``, ``tomi`` or ``explore_tom``.

    Args:
        choices: The admissible answers, as a list or in Hi-ToM's form ``"A. x, B. y"``.
        rules: By default, those behind the benchmark's labels.

    Raises:
        ParseError: If story or question is not in the benchmark's language.
        ValueError: If there is no such benchmark.
    """
    language = get_language(benchmark)
    asked = language.question(question)
    hint = asked.clause if isinstance(asked, StateQuestion) else asked_about(asked)
    parsed, believed = read(language, story, rules or language.rules[UPSTREAM], hint)
    answer = _answer(asked, parsed, believed)
    options = split_choices(choices)
    if answer.answer is not None and options and answer.answer not in options:
        why = f"the story implies {answer.answer!r}, which is not among the choices"
        return Answer(None, f"{why}; {answer.reason}")
    return answer


@lru_cache(maxsize=256)  # several questions about a story usually follow each other
def read(
    language: Language, story: str, rules: Rules, hint: str = ""
) -> tuple[ParsedStory, Beliefs]:
    """Parse and replay a story; ``hint`` is the object asked about, or a clause beginning with it.

    Raises:
        ParseError: At the first sentence that is not in the language.
    """
    parsed = language.story(story, hint)
    return parsed, beliefs(parsed.events, rules)


def split_choices(choices: Sequence[str] | str | None) -> tuple[str, ...]:
    """The choices without letters; ``"A. x, B. y"`` and lists of either form are read."""
    if not choices:
        return ()
    listed: Iterable[str] = choices.split(", ") if isinstance(choices, str) else choices
    return tuple(
        choice[3:].strip() if choice[1:3] == ". " and choice[0].isupper() else choice.strip()
        for choice in listed
    )


def _answer(question: Question, story: ParsedStory, believed: Beliefs) -> Answer:
    match question:
        case WhereQuestion():
            return _where(question, story, believed)
        case KnowsQuestion(topic, chain):
            heard = question.decisive(believed)
            if heard is None:
                reason = f"no talk about {topic!r} reaches {describe(chain)}"
            else:
                reason = f"decided by sentence {story.quote(heard.moment)}"
            return Answer(question.answer(believed), reason)
        case StateQuestion(clause, chain):
            return _state(clause, chain, story, believed)


def _where(question: WhereQuestion, story: ParsedStory, believed: Beliefs) -> Answer:
    moment = None
    if question.when == BEFORE:
        moment = _moment_before(question, story, believed)
        if moment is None:
            return Answer(None, f"no sentence of the story says {question.event!r}")
    decisive = question.decisive(believed, moment)
    who, thing = describe(question.chain), f"the {question.aspect} of the {question.object}"
    if decisive is None:
        return Answer(None, f"no sentence tells {who} {thing}")
    said = story.quote(decisive.moment)
    if decisive.value is None:
        return Answer(None, f"for {who} {thing} is unknown since sentence {said}")
    return Answer(decisive.value, f"{thing} for {who}: decided by sentence {said}")


def _moment_before(question: WhereQuestion, story: ParsedStory, believed: Beliefs) -> int | None:
    """The moment of the event before which the place is asked.

    ExploreToM quotes an event without its last part, and some events happen twice; the first before
    which the object was somewhere is meant.
    """
    moments = [m for m, said in enumerate(story.sentences) if question.event in said]
    for moment in moments:
        if question.decisive(believed, moment) is not None:
            return moment
    return moments[0] if moments else None


def _state(clause: str, chain: Chain, story: ParsedStory, believed: Beliefs) -> Answer:
    change = best_change(clause, story.events)
    if change is None:
        return Answer(None, f"no sentence of the story changes what {clause!r} is about")
    moment, thing, state = change
    seen: Observation | None = believed.decisive(chain, thing, state)
    if seen is None:
        why = f"sentence {story.quote(moment)} is not seen by {describe(chain)}"
        return Answer("no", why)
    return Answer("yes", f"decided by sentence {story.quote(seen.moment)}")


def describe(chain: Chain) -> str:
    """A chain in words: ``Ann thinking of Bob``; the empty chain is ``the world``."""
    return " thinking of ".join(chain) if chain else "the world"
