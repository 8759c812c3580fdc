"""The unit of every dataset: one question about one story, with its gold answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

OF_NO_TASK = "drawn"
"""The task of examples that belong to no registered task."""

AnswerKind = Literal["span", "choice", "yes_no", "names", "label", "number"]


def generated_kind(question_type: str, answer: str) -> AnswerKind:
    if question_type.endswith(":list"):
        return "names"
    return "yes_no" if answer.lower() in ("yes", "no") else "span"


def content_hash(*parts: object) -> str:
    """A short digest of the parts, stable across machines and runs."""
    blob = json.dumps(parts, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(blob.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Example:
    """One question with its gold answer.

    Attributes:
        benchmark: Name such as ``hi_tom``.
        task: Name in the registry, such as ``hi_tom_order4``.
        story: Empty for arithmetic.
        answer: The gold answer. For ``names`` the names are joined by ", ".
        answer_kind: Form of the answer; graders depend on it.
        choices: The admissible answers, where the benchmark gives them.
        order: Belief order (0 = the world), -1 for factual questions of ExploreToM, None where the
            notion does not apply.
        question_type: The benchmark's own name for the kind of question.
        story_id: Digest of the story text; equal for questions about the same story.
        meta: Other fields of the benchmark (JSON values only).
        id: Digest of benchmark, task, story, question, choices and answer: survives reordering.
    """

    benchmark: str
    task: str
    story: str
    question: str
    answer: str
    answer_kind: AnswerKind = "span"
    choices: tuple[str, ...] | None = None
    order: int | None = None
    question_type: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)
    story_id: str = ""
    id: str = ""

    def __post_init__(self) -> None:
        if not self.story_id:
            object.__setattr__(self, "story_id", content_hash(self.story))
        if not self.id:
            key = (self.benchmark, self.task, self.story, self.question, self.choices, self.answer)
            object.__setattr__(self, "id", content_hash(*key))


def pairs_of(examples: Sequence[Example]) -> dict[str, tuple[int, int]]:
    """The indices of the two members of each counterfactual pair, by pair."""
    members: dict[str, list[int]] = {}
    for place, example in enumerate(examples):
        if "pair" in example.meta:
            members.setdefault(str(example.meta["pair"]), []).append(place)
    return {name: (each[0], each[1]) for name, each in members.items() if len(each) == 2}
