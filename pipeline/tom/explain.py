"""Explaining who believes what after each sentence of a story."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pipeline.tom.belief import Beliefs
from pipeline.tom.language import UPSTREAM, get_language
from pipeline.tom.observation import TOPIC
from pipeline.tom.parse.text import ParsedStory, listed
from pipeline.tom.rules import Rules
from pipeline.tom.solve import read
from pipeline.tom.story import agents_of


def explain(benchmark: str, story: str, rules: Rules | None = None) -> str:
    """The story with the beliefs after each sentence that changes any.

    Below such a sentence, for each thing concerned: the truth, each agent's belief, then agents'
    wrong beliefs about others' beliefs.

    Raises:
        ParseError: If the story is not in the benchmark's language.
        ValueError: If there is no such benchmark.
    """
    language = get_language(benchmark)
    parsed, believed = read(language, story, rules or language.rules[UPSTREAM])
    return "\n".join(_lines(parsed, believed))


def _lines(story: ParsedStory, believed: Beliefs) -> Iterator[str]:
    agents = agents_of(story.events)
    for moment, sentence in enumerate(story.sentences):
        yield f"{moment + 1:>3}  {sentence}"
        touched = {(o.object, o.aspect): None for o in believed.observations if o.moment == moment}
        before, now = believed.until(moment - 1), believed.until(moment)
        for thing, aspect in touched:
            state = list(_state_of(now, agents, thing, aspect))
            if state != list(_state_of(before, agents, thing, aspect)):
                yield from state


def _state_of(now: Beliefs, agents: tuple[str, ...], thing: str, aspect: str) -> Iterator[str]:
    def said(chain: tuple[str, ...]) -> str | None:
        decisive = now.decisive(chain, thing, aspect)
        if decisive is None:
            return None
        return _words(decisive.value, aspect, thing)

    own = {agent: value for agent in agents if (value := said((agent,)))}
    parts = [f"really {said(())}"] if said(()) and aspect != TOPIC else []
    parts += [f"{who}: {value}" for who, value in _grouped(own)]
    if parts:
        yield f"       {_heading(thing, aspect)} | " + "; ".join(parts)
    for thinker in agents:
        thoughts = {other: said((thinker, other)) for other in agents if other != thinker}
        wrong = {who: value for who, value in thoughts.items() if value and value != own.get(who)}
        for who, value in _grouped(wrong):
            yield f"         {thinker} has a wrong idea of {who}: {value}"


def _grouped(beliefs_of: Mapping[str, str | None]) -> Iterator[tuple[str, str | None]]:
    for value in dict.fromkeys(beliefs_of.values()):
        yield listed([agent for agent, its in beliefs_of.items() if its == value]), value


def _heading(thing: str, aspect: str) -> str:
    return f"topic {thing!r}" if aspect == TOPIC else f"{thing} ({aspect})"


def _words(value: str | None, aspect: str, thing: str) -> str:
    if value is None:
        return "no longer where it was"
    return "known" if aspect in (TOPIC, value) and value in (thing, aspect) else value
