"""Balance: frequencies and positions of the gold answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pipeline.audit.records import Balance
from pipeline.audit.statistics import evenness
from pipeline.rules.reading import Reading

_SHOWN = 10
_PARTS = 10
NOWHERE = "none"


def balance(readings: Sequence[Reading]) -> Balance:
    examples = [reading.example for reading in readings]
    answers = Counter(example.answer for example in examples)
    positions = [
        example.choices.index(example.answer) + 1
        for example in examples
        if example.choices and example.answer in example.choices
    ]
    spans = [reading for reading in readings if reading.example.answer_kind == "span"]
    return Balance(
        answers={name: count / len(examples) for name, count in answers.most_common(_SHOWN)},
        distinct=len(answers),
        evenness=evenness(answers.values()),
        choice_position=_by_place(positions),
        mention_rank=_by_place(map(_mention_rank, spans)),
        mention_part=_by_place(map(_mention_part, spans)),
    )


def _mention_rank(reading: Reading) -> int | None:
    named = reading.candidates
    return named.index(reading.example.answer) + 1 if reading.example.answer in named else None


def _mention_part(reading: Reading) -> int | None:
    story, answer = reading.example.story, reading.example.answer
    place = story.rfind(answer) if answer else -1
    return place * _PARTS // len(story) + 1 if place >= 0 else None


def _by_place(places: Iterable[int | None]) -> dict[str, int]:
    """Counts by position in rising order, those without one last."""
    all_places = list(places)
    counts = Counter(place for place in all_places if place is not None)
    by_place = {str(place): counts[place] for place in sorted(counts)}
    nowhere = len(all_places) - counts.total()
    return by_place | ({NOWHERE: nowhere} if nowhere else {})
