"""What is judged: a question, and the answer found in the response."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pipeline.evaluate.regrade import is_right
from pipeline.tasks import registry
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Extractor, extract_tagged
from pipeline.tasks.json_answer import extract_json

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
        """Whether this is what was answered."""
        return _matches(self.extracted, replace(self.example, answer=answer))


def items_of(
    answered: Iterable[tuple[Example, str]], extract: Extractor | None = None
) -> list[Item]:
    """Responses as items; ``extract`` replaces :func:`find_answer`."""
    return [_item(example, response, extract or find_answer) for example, response in answered]


def _item(example: Example, response: str, extract: Extractor) -> Item:
    extracted = extract(response)
    return Item(example, response, extracted, _matches(extracted, example))


def _matches(extracted: str | None, example: Example) -> bool:
    return is_right(registry.get(example.task).is_right, extracted, example)


def find_answer(response: str) -> str | None:
    """The answer in tags, else that in JSON, else a short response as it is."""
    tagged = extract_tagged(response)
    if tagged is not None:
        return tagged
    found = extract_json(response)
    if found is not None:
        return found
    short = len(response) <= LONGEST_PLAIN_ANSWER and "\n" not in response.strip()
    return response.strip() if short else None
