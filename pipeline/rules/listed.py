"""Fixed rules on any set of examples: their accuracy and coverage.

The rules on parsed stories are those of :mod:`pipeline.tom.shortcut`. For other languages there are
rules on the text: order and frequency of mentions, options that say somebody does not know, who
speaks first or least, the most common answer. An undefined rule counts as wrong; coverage is the
share of defined answers.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pipeline.rules.reading import Reading
from pipeline.tasks.example import Example
from pipeline.tasks.grading import match_equal
from pipeline.tom.conversation import SUSPECTS, Suspect, suspect_answer
from pipeline.tom.shortcut import SHORTCUTS, Rule, pick_unaware

_ASKS_WHO_KNOWS = re.compile(r"\bDoes .+ know ")
# Upstream's types say of ToMi's and ExploreToM's questions whether the answer is the true place.
_SAYS_THE_ANSWER = re.compile(r"_(?:no_)?tom$|-(?:True|False)$")
MAJORITY = "majority answer"

TextRule = Callable[[Reading], str | None]


def _on_surface(rule: Rule, reading: Reading) -> str | None:
    return None if reading.surface is None else rule(reading.surface)


def first_mention(reading: Reading) -> str | None:
    return reading.mentions[0] if reading.mentions else None


def last_mention(reading: Reading) -> str | None:
    return reading.mentions[-1] if reading.mentions else None


def most_mentioned(reading: Reading) -> str | None:
    """Ties go to the first mentioned."""
    counts = Counter(reading.mentions)
    return max(counts, key=lambda name: counts[name], default=None)


def phrase_cue(reading: Reading) -> str | None:
    """The one option that says somebody does not know, or "no" if that is asked."""
    example = reading.example
    if example.answer_kind == "yes_no":
        return "no" if _ASKS_WHO_KNOWS.search(example.question) else None
    return pick_unaware(example.choices or ())


def first_choice(reading: Reading) -> str | None:
    return reading.example.choices[0] if reading.example.choices else None


def last_choice(reading: Reading) -> str | None:
    return reading.example.choices[-1] if reading.example.choices else None


def _by_suspect(suspect: Suspect, reading: Reading) -> str | None:
    """Answer as if one participant of a conversation did not know, and everybody else did."""
    example = reading.example
    if example.order == 0:
        return None
    return suspect_answer(suspect, example.story, example.question, example.choices or ())


RULES: Mapping[str, TextRule] = {
    **{name.replace("_", " "): partial(_on_surface, rule) for name, rule in SHORTCUTS.items()},
    "first mention": first_mention,
    "last mention": last_mention,
    "most mentioned": most_mentioned,
    "phrase cue": phrase_cue,
    "first choice": first_choice,
    "last choice": last_choice,
    **{name.replace("_", " "): partial(_by_suspect, suspect) for name, suspect in SUSPECTS.items()},
}
"""Every rule that answers an example by itself, by its name in tables."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """One rule on some examples.

    Attributes:
        given: The rule is defined, for each example.
        right: Its answer is the gold answer, for each example.
        chances: Probability that a blind guess is right, for each example.
    """

    rule: str
    given: tuple[bool, ...]
    right: tuple[bool, ...]
    chances: tuple[float, ...]

    @property
    def accuracy(self) -> float:
        return sum(self.right) / len(self.right)

    @property
    def coverage(self) -> float:
        return sum(self.given) / len(self.given)

    @property
    def with_guess(self) -> float:
        """Expected accuracy with a blind guess where the rule is undefined."""
        guessed = (p for p, given in zip(self.chances, self.given, strict=True) if not given)
        return (sum(self.right) + sum(guessed)) / len(self.right)

    def among(self, places: Sequence[int]) -> Baseline:
        given = tuple(self.given[place] for place in places)
        right = tuple(self.right[place] for place in places)
        return Baseline(self.rule, given, right, tuple(self.chances[place] for place in places))


def rule_answers(
    readings: Sequence[Reading], names: Container[str] | None = None
) -> dict[str, list[str | None]]:
    """What every rule, or those of some names, answers to every example; None where undefined."""
    asked = (*RULES, MAJORITY) if names is None else names
    answers = {n: [rule(each) for each in readings] for n, rule in RULES.items() if n in asked}
    if MAJORITY in asked:
        answers[MAJORITY] = list(majority_answers([reading.example for reading in readings]))
    return answers


def baselines(readings: Sequence[Reading]) -> dict[str, Baseline]:
    """Apply every rule to every example; those that are never defined are left out."""
    return {
        name: _graded(name, readings, given)
        for name, given in rule_answers(readings).items()
        if any(answer is not None for answer in given)
    }


_PARTS = 5


def chosen_elsewhere(readings: Sequence[Reading]) -> list[bool]:
    """Correctness of the best rule, chosen on other stories, for each example.

    Five folds by story: on each answers the rule with the best accuracy on the other four, so that
    the choice gains nothing by chance. All False where there are no other stories.
    """
    stories = {story: n for n, story in enumerate(sorted({r.example.story_id for r in readings}))}
    parts = [stories[reading.example.story_id] % _PARTS for reading in readings]
    rules, right = baselines(readings), [False] * len(readings)
    for part in set(parts):
        elsewhere = [place for place, other in enumerate(parts) if other != part]
        if not elsewhere:
            break
        best = max(rules.values(), key=lambda rule: sum(rule.right[place] for place in elsewhere))
        for place, own in enumerate(parts):
            right[place] = best.right[place] if own == part else right[place]
    return right


def majority_answers(examples: Sequence[Example]) -> list[str]:
    """For each example, the most common gold answer to questions of its type."""
    counts: dict[Hashable, Counter[str | int]] = defaultdict(Counter)
    for example in examples:
        counts[_kind(example)][_label(example)] += 1
    common = {kind: labels.most_common(1)[0][0] for kind, labels in counts.items()}
    return [_named(common[_kind(example)], example) for example in examples]


def _kind(example: Example) -> Hashable:
    return example.benchmark, asked_type(example), example.answer_kind


def asked_type(example: Example) -> str:
    """The type of a question without any hint of the answer."""
    return _SAYS_THE_ANSWER.sub("", example.question_type)


def _label(example: Example) -> str | int:
    """The answer, or for lettered options the index of the right one."""
    if example.answer_kind == "choice" and example.answer in (example.choices or ()):
        return (example.choices or ()).index(example.answer)
    return example.answer


def _named(label: str | int, example: Example) -> str:
    if isinstance(label, str):
        return label
    options = example.choices or ("",)
    return options[min(label, len(options) - 1)]


def chance(reading: Reading) -> float:
    """Accuracy of a blind guess among the options, or the places the story names."""
    options = 2 if reading.example.answer_kind == "yes_no" else len(reading.example.choices or ())
    named = len(reading.candidates)
    counts = [count for count in (options, named) if count]
    return 1 / min(counts) if counts else 0.0


def _graded(name: str, readings: Sequence[Reading], answers: Sequence[str | None]) -> Baseline:
    right = tuple(
        answer is not None and is_gold(answer, reading.example)
        for answer, reading in zip(answers, readings, strict=True)
    )
    given = tuple(answer is not None for answer in answers)
    return Baseline(name, given, right, tuple(map(chance, readings)))


def is_gold(answer: str, example: Example) -> bool:
    """Equality after normalisation: a rule names an answer, there is no reply to interpret."""
    if example.answer_kind == "names":
        return set(answer.split(", ")) == set(example.answer.split(", "))
    return answer == example.answer or match_equal(answer, example)
