"""Trying whether a model uses its reasoning: what it wrote is edited, and it goes on from there.

Tried are recounts (:mod:`pipeline.tom.recount`), from which the answer can be derived, so that an
edited one says which answer follows from it, and claims of what is asked in free prose. What must
be derived, the edited text never says: a walk, and prose, end with what was edited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from pipeline.evaluate.engine import TOO_LONG, Engine
from pipeline.evaluate.reasoned import Reasoned, Recounting, read_reasoned
from pipeline.evaluate.regrade import is_right
from pipeline.evaluate.runner import Asking, Graded, grade_response, prompts_of
from pipeline.evaluate.tried import RESTATED, Attempt
from pipeline.tasks import registry
from pipeline.tasks.example import Example
from pipeline.tasks.grading import THINK_END
from pipeline.tom.edits import Told

OTHERS = 10
"""Recounts of other stories, read just before, among which an exchange is drawn."""


@dataclass(frozen=True, slots=True)
class Planned:
    """An edit that is to be tried: how the response begins, and the answer that would follow."""

    reasoned: Reasoned
    kind: str
    begun: str
    implied: str


def plan(
    columns: Mapping[str, Sequence[Example]], graded: Sequence[Graded], questions: int
) -> list[Planned]:
    """What to try on a model's responses.

    Args:
        columns: The questions, by column.
        graded: The first response to each of them, in order.
        questions: So many questions at most, in the order of their ids, one of each story.
    """
    asked = [(name, example) for name, column in columns.items() for example in column]
    answered = sorted(zip(asked, graded, strict=True), key=lambda each: each[0][1].id)
    found, others, tried = list[Planned](), list[Told](), 0
    for each in _one_of_each_story(_reasoned(answered)):
        planned = _edited(each, others[-OTHERS:])
        if isinstance(each.by, Recounting):
            others.append(each.by.told)
        found += planned
        tried += bool(planned)
        if tried == questions:
            break
    return found


def attempt(
    engine: Engine,
    planned: Sequence[Planned],
    asking: Asking,
    *,
    seed: int,
    report: Callable[[int], None] = lambda _: None,
) -> list[Attempt]:
    """Have a model go on from edited reasoning; what leaves no room for an answer is left out."""
    examples = [each.reasoned.example for each in planned]
    shown = prompts_of(examples, replace(asking, samples=1), seed=seed)
    prompts = [
        replace(prompt, begun=prompt.begun + each.begun)
        for prompt, each in zip(shown, planned, strict=True)
    ]
    responses = engine.complete(prompts, asking.sampling, report)
    return [
        _attempted(each, response.text, asking.prompt)
        for each, response in zip(planned, responses, strict=True)
        if response != TOO_LONG
    ]


def _attempted(planned: Planned, text: str, prompt: str) -> Attempt:
    example, place = planned.reasoned.example, planned.implied
    extracted = grade_response(planned.begun + text, example, prompt).extracted
    after = text.partition(THINK_END)[0]
    stands = planned.kind == RESTATED or planned.reasoned.by.stands(planned.begun, after, place)
    return Attempt(
        id=example.id,
        column=planned.reasoned.column,
        kind=planned.kind,
        implied=place,
        begun=planned.begun,
        response=text,
        extracted=extracted,
        follows=stands and _says(example, extracted, place),
        stays=_says(example, extracted, planned.reasoned.answered),
    )


def _says(example: Example, extracted: str | None, place: str | None) -> bool:
    """Whether an answer names a place, by the rule that grades the task."""
    if place is None:
        return extracted is None
    return is_right(registry.get(example.task).is_right, extracted, replace(example, answer=place))


def _one_of_each_story(found: Iterator[Reasoned]) -> Iterator[Reasoned]:
    seen = set[str]()
    for each in found:
        if each.example.story_id not in seen:
            seen.add(each.example.story_id)
            yield each


def _reasoned(answered: Iterable[tuple[tuple[str, Example], Graded]]) -> Iterator[Reasoned]:
    for (column, example), graded in answered:
        found = read_reasoned(example, column, graded.response.text, graded.grade.extracted)
        if found is not None:
            yield found


def _edited(reasoned: Reasoned, others: Sequence[Told]) -> list[Planned]:
    """A try of each kind of edit that leads to another answer."""
    random, by = Random(reasoned.example.id), reasoned.by
    answered = {p for p in by.places if _says(reasoned.example, reasoned.answered, p)}
    found = list(by.edited(others, answered, random))
    if found and isinstance(by, Recounting):
        found += by.restated(answered, random)
    return [Planned(reasoned, *each) for each in found]
