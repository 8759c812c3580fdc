"""Hi-ToM-style stories in any surface style, with gold answers, and their counterfactual pairs."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from pipeline.tom.belief import beliefs
from pipeline.tom.generate import brief, surface
from pipeline.tom.generate.hi_tom import (
    HiTomSettings,
    HiTomStory,
    generate,
    render,
    render_question,
)
from pipeline.tom.generate.item import (
    CounterfactualPair,
    GeneratedItem,
    GeneratedQuestion,
)
from pipeline.tom.generate.pair import NoPair, drawn_twins
from pipeline.tom.generate.styles import BENCHMARK, BRIEF, STYLES
from pipeline.tom.question import WhereQuestion
from pipeline.tom.rules import HI_TOM
from pipeline.tom.story import Story

_ATTEMPTS = 1000


def generate_item(settings: HiTomSettings, random: Random, style: str = BENCHMARK) -> GeneratedItem:
    drawn = generate(_named(settings, style), random)
    return _item(drawn, drawn.events, settings, style)


def pair(settings: HiTomSettings, random: Random, style: str = BENCHMARK) -> CounterfactualPair:
    """Draw a story with a twin in which somebody leaves later, or is told what another was told."""
    for _ in range(_ATTEMPTS):
        drawn = generate(_named(settings, style), random)
        for twins in drawn_twins(drawn.events, HI_TOM, random):
            found = CounterfactualPair(
                _item(drawn, twins.observed, settings, style),
                _item(drawn, twins.hidden, settings, style),
                twins.witness,
                twins.intervention,
            )
            if found.differing:
                return found
    raise NoPair(f"none of {_ATTEMPTS} stories of {settings} has a twin")


def told(events: Story, style: str) -> str:
    """A story in the words of a style, ``BRIEF`` included."""
    if style == BRIEF:
        return brief.render(events)
    return render(events) if style == BENCHMARK else surface.render(events, style)


def ask(question: WhereQuestion, style: str) -> str:
    own = style in (BENCHMARK, BRIEF)
    return render_question(question) if own else surface.ask(question, style)


def _named(settings: HiTomSettings, style: str) -> HiTomSettings:
    own = style in (BENCHMARK, BRIEF)
    return settings if own else replace(settings, names=STYLES[style].names)


def _item(drawn: HiTomStory, events: Story, settings: HiTomSettings, style: str) -> GeneratedItem:
    known = beliefs(events, HI_TOM)
    questions = tuple(
        GeneratedQuestion(
            ask(asked, style),
            asked.answer(known) or "",
            asked.order,
            f"order_{asked.order}",
            drawn.choices,
            asked=asked,
        )
        for asked in drawn.questions
    )
    tell = "tell" if settings.tell else "no_tell"
    kind = f"{tell}, length {settings.chapters}"
    return GeneratedItem(told(events, style), questions, events, style, kind)
