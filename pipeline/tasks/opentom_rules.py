"""OpenToM's classification of replies, and its aggregate scores.

Source: seacowx/OpenToM:src/evaluate/opentom_evaluator.py and src/evaluate.py. Its authors grade the
whole reply; here a tagged answer is graded if there is one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from pipeline.tasks.example import Example
from pipeline.tasks.grading import match_equal
from pipeline.tasks.scores import LONGEST_TEXT, macro_f1

CORRUPT = -1
_SAME_OVERLAP = 3
_LESS_FULL, _MORE_FULL = ("less full", "emptier", "more empty"), ("more full", "fuller")
_FULLNESS = {"less full": 1, "more full": 2, "equally full": 3}
_ACCESSIBILITY = {"more accessible": 1, "less accessible": 2, "equally accessible": 3}
_ATTITUDE = {"positive": 1, "negative": 2, "neutral": 3}
_ATTITUDE_LETTERS = {"a": "positive", "b": "neutral", "c": "negative"}

Result = tuple[Example, str | None]
"""An example and the extracted answer, if any."""


def match(answer: str, example: Example) -> bool:
    """The reply falls into the right class, or is the gold answer.

    The second clause is ours: the published rule rejects 14 of 13,708 gold answers, where it cannot
    tell one place from the other ("drawer", "another drawer").
    """
    truth = gold_class(example)
    return match_equal(answer, example) or (
        truth is not None and reply_class(answer, example) == truth
    )


def reads(example: Example) -> tuple[str, ...]:
    """Fields of an example that grading reads beside the answer."""
    places = ("meta.original_place", "meta.move_to_place")
    return ("meta.kind", *(places if example.meta.get("kind") == "location_fine" else ()))


def reply_class(answer: str, example: Example) -> int:
    """The published class of a reply, or ``CORRUPT``."""
    return _CLASSES[_kind(example)](answer, example)


def gold_class(example: Example) -> int | None:
    """The gold class; None where the answer is neither of the story's places."""
    kind = _kind(example)
    if kind == "location_fine":
        truth = _without_article(example.answer).lower()
        places = [_without_article(place).lower() for place in _places(example)]
        return places.index(truth) + 1 if truth in places else None
    if kind == "location_coarse":
        return int(example.answer.lower() == "yes")
    return {**_FULLNESS, **_ACCESSIBILITY, **_ATTITUDE}[example.answer]


def _place_class(answer: str, example: Example) -> int:
    found = set(_words(answer[:LONGEST_TEXT].lower().replace(".", "")))
    original, moved_to = (_overlap(found, place) for place in _places(example))
    if original == moved_to:
        return _SAME_OVERLAP
    return 1 if original > moved_to else 2


def _yes_no_class(answer: str, example: Example) -> int:
    text = answer.lower()
    if ("yes" in text) == ("no" in text):
        return CORRUPT
    return int("yes" in text)


def _fullness_class(answer: str, example: Example) -> int:
    text = answer.replace(".", "").lower()
    if any(words in text for words in _LESS_FULL):
        return _FULLNESS["less full"]
    if any(words in text for words in _MORE_FULL):
        return _FULLNESS["more full"]
    return _FULLNESS["equally full"] if "equally full" in text else CORRUPT


def _accessibility_class(answer: str, example: Example) -> int:
    text = answer.replace(".", "").lower()
    return next((label for words, label in _ACCESSIBILITY.items() if words in text), CORRUPT)


def _attitude_class(answer: str, example: Example) -> int:
    """Read the last paragraph, after its last colon and up to its first full stop."""
    last = answer.lower().split("\n\n")[-1].split(":")[-1].split(".")[0].strip()
    if last in _ATTITUDE_LETTERS:
        return _ATTITUDE[_ATTITUDE_LETTERS[last]]
    found = [label for word, label in _ATTITUDE.items() if word in last]
    return found[0] if len(found) == 1 else CORRUPT


_CLASSES: Mapping[str, Callable[[str, Example], int]] = {
    "location_fine": _place_class,
    "location_coarse": _yes_no_class,
    "fullness": _fullness_class,
    "accessibility": _accessibility_class,
    "attitude": _attitude_class,
}


def _kind(example: Example) -> str:
    return str(example.meta["kind"])


def _places(example: Example) -> tuple[str, str]:
    return example.meta["original_place"], example.meta["move_to_place"]


def _without_article(place: str) -> str:
    # Upstream strips the letters, not the word: "armchair" becomes "rmchair".
    for article in ("a", "an", "the"):
        if place.startswith(article):
            return place[len(article) :].strip()
    return place


def _overlap(found: set[str], place: str) -> float:
    words = _words(_without_article(place).lower())
    return len(set(words) & found) / len(words) if words else 0.0


def _words(text: str) -> list[str]:
    return text.replace("_", " ").replace("'s", "").split()


def scores(results: Iterable[Result]) -> dict[str, float]:
    """Macro-F1 per question type as published, and accuracy beside it.

    ``macro-f1`` is over the replies with a class, as upstream's (there the mean of five batches of
    50 stories); ``corrupt`` is the share of the others, which ``accuracy`` counts as wrong.
    Fullness and accessibility are also pooled, as ``multihop``.
    """
    groups: dict[str, list[tuple[Example, str]]] = defaultdict(list)
    for example, answer in results:
        kind, suffix = _kind(example), example.meta["suffix"]
        groups[kind + suffix].append((example, answer or ""))
        if kind in ("fullness", "accessibility"):
            groups["multihop" + suffix].append((example, answer or ""))
    return {
        f"{group}:{name}": value
        for group, members in sorted(groups.items())
        for name, value in _group_scores(members).items()
    }


def _group_scores(members: Sequence[tuple[Example, str]]) -> dict[str, float]:
    pairs = [(gold_class(ex), reply_class(answer, ex)) for ex, answer in members]
    valid = [(truth, found) for truth, found in pairs if found != CORRUPT and truth is not None]
    right = sum(bool(answer) and match(answer, ex) for ex, answer in members)
    return {
        "macro-f1": macro_f1([truth for truth, _ in valid], [found for _, found in valid]),
        "corrupt": sum(found == CORRUPT for _, found in pairs) / len(pairs),
        "accuracy": right / len(pairs),
    }
