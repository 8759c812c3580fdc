"""Responses to imitate in supervised training, written into its rows.

They follow the pre-filled ``<think>``, like every response of a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from pipeline.base.errors import UserError
from pipeline.config.algorithms import Imitated
from pipeline.data.contrast import answer_by_rule
from pipeline.tasks.example import Example
from pipeline.tom.belief import Beliefs, beliefs
from pipeline.tom.language import PLAIN, language_of
from pipeline.tom.parse.text import ParseError
from pipeline.tom.question import WhereQuestion
from pipeline.tom.recount import read_lines
from pipeline.tom.solve import read
from pipeline.tom.story import Claim, Story
from pipeline.tom.trace import write_edited_track, write_trace, write_track

FIELD = "imitated"
"""The field of ``meta`` with the responses by kind."""

GIVEN = "given"
"""The field of ``meta`` with a beginning of the response that is given, not taught."""

_EDITED_SHARE = 0.5  # of tracks


def with_responses(examples: Sequence[Example], kinds: Sequence[Imitated]) -> list[Example]:
    """Examples with the responses of some kinds, where they have one; UserError without any."""
    if not kinds:
        return list(examples)
    written = [{kind: made for kind in kinds if (made := response_of(e, kind))} for e in examples]
    for kind in kinds:
        if not any(kind in found for found in written):
            tasks = ", ".join(sorted({example.task for example in examples}))
            raise UserError(
                f"sft imitates {kind}, and no row of {tasks} has one: the belief engine reads "
                "questions about places of Hi-ToM, ToMi and ExploreToM; train on those, or say "
                "imitates: answers"
            )
    return [
        replace(example, meta={**example.meta, **_fields(found)})
        for example, found in zip(examples, written, strict=True)
    ]


def demonstrated(examples: Sequence[Example]) -> list[Example]:
    """Examples with a response to show: gold, after true reasoning where there is any."""
    return [
        replace(e, meta={**e.meta, **_fields({"traces": made})})
        for e in examples
        if (made := response_of(e, "traces") or response_of(e, "answers"))
    ]


def _fields(written: Mapping[Imitated, tuple[str, str]]) -> dict[str, Any]:
    given = {kind: given for kind, (given, _) in written.items() if given}
    responses = {kind: response for kind, (_, response) in written.items()}
    return {FIELD: responses, **({GIVEN: given} if given else {})}


def response_of(example: Example, kind: Imitated) -> tuple[str, str] | None:
    """What is given of a response, and what is to be imitated after it; None where it has none."""
    match kind:
        case "answers":
            return "", _answering(example.answer)
        case "traces":
            trace = gold_trace(example)
            return ("", _answering(example.answer, f" {trace}")) if trace else None
        case "edited":
            return _edited(example) or response_of(example, "traces")
        case "sight":
            return _by_sight(example)
        case "rule":
            given = _by_rule(example)
            return ("", _answering(given)) if given else None


def _edited(example: Example) -> tuple[str, str] | None:
    """A track of which a line is edited; None for half of them, and for other traces."""
    random = Random(f"edited:{example.id}")
    lines = read_lines(str(example.meta.get("trace", "")))
    if not lines or not lines[0].step or random.random() >= _EDITED_SHARE:
        return None
    if (found := _read(example)) is None:
        return None
    asked, events, known = found
    made = write_edited_track(asked, events, known, random)
    return (f" {made.begun}", _answering(made.answer, made.rest)) if made else None


def _by_sight(example: Example) -> tuple[str, str] | None:
    """The track and answer of a mind for which no claim is made; None where there is no track."""
    language, found = language_of(example.benchmark), _read(example)
    if language is None or found is None:
        return None
    asked, events, _ = found
    seen = tuple(event for event in events if not isinstance(event, Claim))
    known = beliefs(seen, language.rules[PLAIN])
    return "", _answering(str(asked.answer(known)), f" {write_track(asked, seen, known)}")


def _answering(answer: str, reasoning: str = "") -> str:
    return f"{reasoning}</think><answer> {answer}</answer>"


def _by_rule(example: Example) -> str | None:
    if language_of(example.benchmark) is None:
        return None
    try:
        return answer_by_rule(example)
    except ParseError:
        return None


def gold_trace(example: Example) -> str | None:
    """True reasoning that leads to the gold answer, or None.

    Generated rows carry it. For others the belief engine reads the story; None where it disagrees
    with the benchmark.
    """
    if trace := example.meta.get("trace"):
        return str(trace)
    if (found := _read(example)) is None:
        return None
    asked, _, known = found
    return write_trace(asked, known) if asked.answer(known) == example.answer else None


def _read(example: Example) -> tuple[WhereQuestion, Story, Beliefs] | None:
    """The place asked for, what happens, what is believed then; None where it cannot be read."""
    language = language_of(example.benchmark)
    asked = language.place_asked(example.question) if language else None
    if language is None or asked is None:
        return None
    try:
        told, known = read(language, example.story, language.rules[PLAIN], asked.object)
    except ParseError:
        return None
    return asked, told.events, known
