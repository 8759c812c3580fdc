"""Questions with answers, the input of judgement."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pipeline.evaluate.regrade import is_right
from pipeline.evaluate.statistics import Estimate, share
from pipeline.tasks import registry
from pipeline.tasks.example import Example
from pipeline.tasks.grading import Extractor
from pipeline.tasks.replies import find_answer


@dataclass(frozen=True, slots=True)
class Item:
    """A question with its answer, if any; ``right`` by the task's published rule."""

    example: Example
    response: str
    extracted: str | None
    right: bool

    def says(self, answer: str) -> bool:
        return _matches(self.extracted, replace(self.example, answer=answer))


def items_of(
    answered: Iterable[tuple[Example, str]], extract: Extractor | None = None
) -> list[Item]:
    return [_item(example, response, extract) for example, response in answered]


def share_right(items: Sequence[Item]) -> Estimate:
    """The share of right answers, clustered by story."""
    return share([item.right for item in items], [item.example.story_id for item in items])


def _item(example: Example, response: str, extract: Extractor | None) -> Item:
    extracted = extract(response) if extract else find_answer(response, example)
    return Item(example, response, extracted, _matches(extracted, example))


def _matches(extracted: str | None, example: Example) -> bool:
    return is_right(registry.get(example.task).is_right, extracted, example)
