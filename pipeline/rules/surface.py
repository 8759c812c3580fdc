"""Surface features of the candidate answers of a question.

For every candidate: the listed rules and cues that pick it; frequency and position of its showings,
moves, claims and mentions; its index among the options. For every question: order, type and length.
Only the listed rules of exits depend on who was present.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from pipeline.rules.listed import RULES, asked_type
from pipeline.rules.reading import Reading
from pipeline.tasks.example import pairs_of
from pipeline.tom.cues import CUES, Kind, Naming
from pipeline.tom.question import WhereQuestion
from pipeline.tom.shortcut import Surface

UNDEFINED = -1
"""Index of an answer that is not among the candidates, or of none."""

_YES_NO = ("yes", "no")
_KINDS: tuple[Kind, ...] = ("shown", "moved", "claimed")


@dataclass(frozen=True, slots=True)
class SurfaceQuestion:
    """A question as input of surface rules.

    Attributes:
        picks: The answer of each rule and cue, by name; None where it is undefined.
        rows: Features, shape (candidates, features).
        story: Story id.
    """

    candidates: tuple[str, ...]
    picks: Mapping[str, str | None]
    rows: np.ndarray
    story: str

    def place_of(self, answer: str | None) -> int:
        return self.candidates.index(answer) if answer in self.candidates else UNDEFINED


def surface_of(readings: Sequence[Reading]) -> list[SurfaceQuestion]:
    types = sorted({asked_type(reading.example) for reading in readings})
    return [_asked(reading, types.index(asked_type(reading.example))) for reading in readings]


def gold_places(readings: Sequence[Reading]) -> tuple[list[SurfaceQuestion], list[int]]:
    """Questions with the indices of their gold answers; a counterfactual pair has one story id.

    The two stories of a pair are nearly the same, so a fit to one must not predict the other.
    """
    asked = surface_of(readings)
    examples = [reading.example for reading in readings]
    for one, other in pairs_of(examples).values():
        story = min(examples[one].story_id, examples[other].story_id)
        for place in (one, other):
            asked[place] = replace(asked[place], story=story)
    gold = [each.place_of(e.answer) for each, e in zip(asked, examples, strict=True)]
    return asked, gold


def _asked(reading: Reading, type_number: int) -> SurfaceQuestion:
    named = reading.surface.namings if reading.surface else ()
    picks = _picks(reading, named)
    candidates = _candidates(reading, named, picks)
    question = _of_question(reading, named, len(candidates), type_number)
    answers = list(picks.values())
    rows = np.asarray(
        [
            [*_picked(name, answers), *_of_candidate(name, reading, named), *question]
            for name in candidates
        ],
        dtype=np.float32,
    )
    return SurfaceQuestion(candidates, picks, rows, reading.example.story_id)


def _picks(reading: Reading, named: Sequence[Naming]) -> dict[str, str | None]:
    chain = _where(reading.surface).chain if named else ()
    cues = {name: cue(named, chain) if named else None for name, cue in CUES.items()}
    return {name: rule(reading) for name, rule in RULES.items()} | cues


def _where(surface: Surface | None) -> WhereQuestion:
    assert surface is not None
    assert isinstance(surface.question, WhereQuestion)
    return surface.question


def _candidates(
    reading: Reading, named: Sequence[Naming], picks: Mapping[str, str | None]
) -> tuple[str, ...]:
    """The possible answers: the places named, else the options, else the rules' answers."""
    example = reading.example
    if example.answer_kind == "yes_no":
        return _YES_NO
    if named:
        return tuple(dict.fromkeys([*reading.candidates, *(naming.place for naming in named)]))
    if example.choices:
        return example.choices
    found = [*reading.mentions, *(answer for answer in picks.values() if answer is not None)]
    return tuple(dict.fromkeys(found))


def _picked(name: str, answers: Sequence[str | None]) -> list[float]:
    return [UNDEFINED if answer is None else float(answer == name) for answer in answers]


def _of_candidate(name: str, reading: Reading, named: Sequence[Naming]) -> list[float]:
    """Position and frequency of a candidate's mentions, from the front and from the back."""
    at = [place for place, naming in enumerate(named) if naming.place == name]
    mentioned = [place for place, mention in enumerate(reading.mentions) if mention == name]
    options = reading.example.choices or ()
    return [
        *(sum(named[place].kind == kind for place in at) for kind in _KINDS),
        *_ends(at, len(named)),
        len(mentioned),
        *_ends(mentioned, len(reading.mentions)),
        options.index(name) if name in options else UNDEFINED,
        len(options) - options.index(name) if name in options else UNDEFINED,
    ]


def _ends(places: Sequence[int], count: int) -> tuple[int, int]:
    return (places[0], count - 1 - places[-1]) if places else (UNDEFINED, UNDEFINED)


def _of_question(
    reading: Reading, named: Sequence[Naming], candidates: int, type_number: int
) -> list[float]:
    """Features shared by all candidates of a question."""
    chain = _where(reading.surface).chain if named else ()
    kinds = [naming.kind for naming in named]
    order = reading.example.order
    return [
        UNDEFINED if order is None else order,
        type_number,
        candidates,
        *(kinds.count(kind) for kind in _KINDS),
        sum(one == other == "claimed" for one, other in pairwise(kinds)),
        sum(naming.kind == "claimed" and naming.by in chain for naming in named),
        sum(naming.kind == "moved" and naming.by in chain for naming in named),
        len(set(chain)),
        len(reading.mentions),
    ]
