"""Solving OpenToM questions from plot records: what follows from them, and what does not.

Places and fullness follow from who saw what. Not answered, with the reason said: what the mover
thinks of the observer (the narrative alone tells whether the mover noticed being seen), how
accessible a place is once the thing has moved, and attitudes (both need common sense).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pipeline.tom.belief import HI_TOM, Beliefs, beliefs
from pipeline.tom.parse.opentom import (
    ATTITUDE,
    BEGINNING,
    FULLNESS,
    INITIAL,
    PLACE,
    PlotQuestion,
    parse_plot,
    parse_question,
)
from pipeline.tom.parse.text import ParsedStory
from pipeline.tom.solve import Answer, describe
from pipeline.tom.story import Place


def solve_plot(record: Mapping[str, Any], question: str, upstream: bool = True) -> Answer:
    """Answer a question from a record of ``meta_data.json``.

    Args:
        record: With ``plot``, ``plot_info`` (``mover``, ``original_place``, ``move_to_place``) and
            ``observed``.
        question: The question text.
        upstream: Follow an oddity of the labels: in a first-order question about the fullness of a
            place named after the mover ("Ann's own fridge"), what counts is what the mover knows,
            whoever's perspective is asked for.

    Raises:
        ParseError: If plot or question cannot be read.
    """
    asked = parse_question(question)
    if asked.kind == ATTITUDE:
        return Answer(None, "an attitude needs common sense about the person's preferences")
    info = record["plot_info"]
    mover = info["mover"]
    if asked.chain[:1] == (mover,) and len(asked.chain) == 2:
        return Answer(None, "whether the mover noticed being seen is told by the narrative alone")
    if upstream and asked.kind == FULLNESS and len(asked.chain) == 1 and mover in asked.thing:
        asked = replace(asked, chain=(mover,))
    story = parse_plot(record["plot"], record["observed"])
    return _from_plot(asked, info, story, beliefs(story.events, HI_TOM))


def _from_plot(
    asked: PlotQuestion, info: Mapping[str, str], story: ParsedStory, believed: Beliefs
) -> Answer:
    thing = next(event.object for event in story.events if isinstance(event, Place))
    first, last = info["original_place"], info["move_to_place"]
    seen = believed.decisive(asked.chain, thing)
    if seen is None:
        return Answer(None, f"no sentence tells {describe(asked.chain)} where the {thing} is")
    moved = seen.value != believed.history((), thing)[0].value
    reason = f"for {describe(asked.chain)} decided by sentence {story.quote(seen.moment)}"
    if asked.kind == INITIAL:
        return Answer("No" if moved else "Yes", reason)
    if asked.kind == PLACE:
        return Answer(last if moved else first, reason)
    if asked.kind == BEGINNING:
        return Answer(first, "it is where both first noticed it")
    if asked.kind == FULLNESS:
        return Answer(_fullness(asked.thing, first, moved), reason)
    if moved:
        return Answer(None, f"whether {last!r} is easier to reach needs common sense; {reason}")
    return Answer("equally accessible", reason)


def _fullness(container: str, first: str, moved: bool) -> str:
    if not moved:
        return "equally full"
    return "less full" if container == first else "more full"
