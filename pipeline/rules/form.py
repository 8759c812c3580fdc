"""Rules on the form of candidate answers and of the question, without the story."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

Pick = Callable[[Sequence[str], str], str]
"""From the candidates, at least one, in order, and the question to an answer."""

FORM_RULES: Mapping[str, tuple[str, Pick]] = {
    "alphabetically first": (
        "answers with the place that comes first in the alphabet",
        lambda candidates, _: min(candidates, key=str.casefold),
    ),
    "alphabetically last": (
        "answers with the place that comes last in the alphabet",
        lambda candidates, _: max(candidates, key=str.casefold),
    ),
    "longest name": (
        "answers with the place that has the longest name",
        lambda candidates, _: max(candidates, key=len),
    ),
    "shortest name": (
        "answers with the place that has the shortest name",
        lambda candidates, _: min(candidates, key=len),
    ),
    "length of the question": (
        "chooses a place by the number of letters of the question",
        lambda candidates, question: candidates[len(question) % len(candidates)],
    ),
    "words of the question": (
        "chooses a place by the number of words of the question",
        lambda candidates, question: candidates[len(question.split()) % len(candidates)],
    ),
}
"""By name in verdicts: what each does, in words and on candidates; ties go to the first."""

OF_OPTIONS = " of the options"
"""Suffix of rules that choose among the options, where the story names fewer places."""


def form_answers(
    candidates: Sequence[Sequence[str]],
    options: Sequence[Sequence[str]],
    questions: Sequence[str],
) -> dict[str, list[str | None]]:
    """Answers of each rule on form, among candidates and, where they differ, among options."""
    found = {name: _applied(pick, candidates, questions) for name, (_, pick) in FORM_RULES.items()}
    if any(set(few) != set(many) for few, many in zip(candidates, options, strict=True) if many):
        for name, (_, pick) in FORM_RULES.items():
            found[name + OF_OPTIONS] = _applied(pick, options, questions)
    return found


def _applied(
    pick: Pick, sets: Sequence[Sequence[str]], questions: Sequence[str]
) -> list[str | None]:
    pairs = zip(sets, questions, strict=True)
    return [pick(candidates, question) if candidates else None for candidates, question in pairs]
