"""What is judged: a question, the answer found in the response, and what the rules would say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pipeline.audit.reading import read_all
from pipeline.audit.rules import is_gold, rule_answers
from pipeline.evaluate.regrade import is_right
from pipeline.tasks import registry
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Extractor, extract_json, extract_tagged

LONGEST_PLAIN_ANSWER = 200
"""Characters of a response without tags or JSON that is taken for an answer by itself."""


@dataclass(frozen=True, slots=True)
class Item:
    """A question with what was answered.

    Attributes:
        example: The question.
        response: The whole response.
        extracted: The answer found in it; None where there is none.
        right: Whether the answer is right, by the task's published rule.
    """

    example: Example
    response: str
    extracted: str | None
    right: bool

    def says(self, answer: str) -> bool:
        """Return whether this is what was answered."""
        return _matches(self.extracted, replace(self.example, answer=answer))


def items_of(
    answered: Iterable[tuple[Example, str]], extract: Extractor | None = None
) -> list[Item]:
    """Return responses as items; ``extract`` replaces :func:`find_answer`."""
    return [_item(example, response, extract or find_answer) for example, response in answered]


def _item(example: Example, response: str, extract: Extractor) -> Item:
    extracted = extract(response)
    return Item(example, response, extracted, _matches(extracted, example))


def _matches(extracted: str | None, example: Example) -> bool:
    return is_right(registry.get(example.task).match, extracted, example)


def find_answer(response: str) -> str | None:
    """Return the answer in tags, else that in JSON, else a short response as it is."""
    tagged = extract_tagged(response)
    if tagged is not None:
        return tagged
    found = extract_json(response)
    if found is not None:
        return found
    short = len(response) <= LONGEST_PLAIN_ANSWER and "\n" not in response.strip()
    return response.strip() if short else None


@dataclass(frozen=True, slots=True)
class RuleEvidence:
    """What one rule that learns nothing says to the questions.

    Attributes:
        rule: Its name.
        answers: What it answers to each question; None where it says nothing.
        right: Whether that is right.
        copied: Whether the same was answered.
    """

    rule: str
    answers: tuple[str | None, ...]
    right: tuple[bool, ...]
    copied: tuple[bool, ...]

    @property
    def accuracy(self) -> float:
        """Return the share of questions that the rule answers right."""
        return sum(self.right) / len(self.right)

    @property
    def wrong(self) -> list[int]:
        """Return the places of the questions to which it gives a wrong answer."""
        given = enumerate(zip(self.answers, self.right, strict=True))
        return [place for place, (answer, right) in given if answer is not None and not right]


def rule_evidence(items: Sequence[Item]) -> list[RuleEvidence]:
    """Apply every rule to the questions; those that are undefined on most of them are left out."""
    examples = [item.example for item in items]
    return [
        _evidence(name, answers, items)
        for name, answers in rule_answers(read_all(examples)).items()
        if 2 * sum(answer is not None for answer in answers) > len(items)
    ]


def _evidence(name: str, answers: Sequence[str | None], items: Sequence[Item]) -> RuleEvidence:
    pairs = list(zip(answers, items, strict=True))
    return RuleEvidence(
        rule=name,
        answers=tuple(answers),
        right=tuple(a is not None and is_gold(a, item.example) for a, item in pairs),
        copied=tuple(a is not None and item.says(a) for a, item in pairs),
    )
