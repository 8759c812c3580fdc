"""Descriptions of rules and simpler minds, for sentences and glossaries."""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.rules.form import FORM_RULES, OF_OPTIONS
from pipeline.rules.learned import LEARNED
from pipeline.rules.listed import MAJORITY
from pipeline.tom.minds import MINDS

_WHEN = "answers with where the object was when"

RULE_WORDS: Mapping[str, str] = {
    "initial": "answers with the object's first place",
    "scene start": "answers with where the object was when its last scene began",
    "last": "answers with where the object really is",
    "first move": "answers with where the object was moved first",
    "most frequent": "answers with the place that is named most often",
    "innermost exit": f"{_WHEN} the last agent asked about left for good",
    "outermost exit": f"{_WHEN} the first agent asked about left for good",
    "earliest exit": f"{_WHEN} the first of those asked about left for good",
    "first claim": "answers with the place claimed first",
    "last claim": "answers with the place claimed last",
    "claim to innermost": "answers with the last claim that the last agent asked about heard",
    "claim to outermost": "answers with the last claim that the first agent asked about heard",
    "first mention": "answers with the option that the story mentions first",
    "last mention": "answers with the option that the story mentions last",
    "most mentioned": "answers with the option that the story mentions most often",
    "phrase cue": "answers that somebody does not know",
    "first choice": "answers with the first option",
    "last choice": "answers with the last option",
    "speaks first": "answers that whoever speaks first does not know",
    "speaks least": "answers that whoever speaks least does not know",
    MAJORITY: "gives the most common answer to questions of that kind",
}


def what_it_does(name: str) -> str | None:
    """A rule or simpler mind as the predicate of a sentence about a model.

    A learned rule is described by the list closest to it. None for a name that explains itself.
    """
    faults = name.split(" and ")
    if all(fault in MINDS for fault in faults):
        return " and ".join(MINDS[fault].lacks for fault in faults)
    if name in RULE_WORDS:
        return RULE_WORDS[name]
    form = name.removesuffix(OF_OPTIONS)
    if form in FORM_RULES:
        return FORM_RULES[form][0] + (OF_OPTIONS if form != name else "")
    learned, _, nearest = name.partition(", near ")
    if not learned.startswith(LEARNED):
        return None
    near = f", which comes close to “{nearest}”" if nearest else ""
    return f"follows a rule that can be learned from its own answers{near}"
