"""Balance: which answers are frequent, and where the right one tends to stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pipeline.audit.reading import Reading
from pipeline.audit.statistics import evenness

_SHOWN = 10
_PARTS = 10
NOWHERE = "none"


def balance(readings: Sequence[Reading]) -> dict[str, Any]:
    """Return how the gold answers are spread.

    Returns:
        ``answers``: the most common ones with their shares; ``distinct``: how many there are;
        ``evenness``: entropy as a share of the largest possible; ``choice_position``: rows by the
        place of the gold answer among the choices; ``mention_rank``: rows by its rank among the
        candidates in the order in which the story first mentions them; ``mention_part``: rows by
        the tenth of the story in which it is last mentioned. Rows without such a place are under
        ``none``.
    """
    examples = [reading.example for reading in readings]
    answers = Counter(example.answer for example in examples)
    positions = Counter(
        example.choices.index(example.answer) + 1
        for example in examples
        if example.choices and example.answer in example.choices
    )
    spans = [reading for reading in readings if reading.example.answer_kind == "span"]
    return {
        "answers": {name: count / len(examples) for name, count in answers.most_common(_SHOWN)},
        "distinct": len(answers),
        "evenness": evenness(answers.values()),
        "choice_position": _by_key(positions),
        "mention_rank": _by_key(Counter(map(_mention_rank, spans))),
        "mention_part": _by_key(Counter(map(_mention_part, spans))),
    }


def _mention_rank(reading: Reading) -> int | str:
    named = reading.candidates
    return named.index(reading.example.answer) + 1 if reading.example.answer in named else "-"


def _mention_part(reading: Reading) -> int | str:
    story, answer = reading.example.story, reading.example.answer
    place = story.rfind(answer) if answer else -1
    return place * _PARTS // len(story) + 1 if place >= 0 else "-"


def _by_key(counts: Counter[Any]) -> dict[str, int]:
    """Return counts by place in rising order, what has no place last."""
    ranked = sorted(counts.items(), key=lambda item: (isinstance(item[0], str), item[0]))
    return {NOWHERE if key == "-" else str(key): count for key, count in ranked}
