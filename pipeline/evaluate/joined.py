"""Rows of answers that have no story, joined with the questions that were asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.base.errors import UserError
from pipeline.tasks.example import Example


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions of a task.

    Attributes:
        task: Its name.
        by_id: The questions by their ids, and by upstream's own.
        by_text: Those whose text no other question has, by that text.
    """

    task: str
    by_id: Mapping[str, Example]
    by_text: Mapping[str, Example]

    @classmethod
    def of(cls, task: str, examples: Iterable[Example]) -> Asked:
        """The questions of a task, so that they can be found."""
        by_id: dict[str, Example] = {}
        by_text: dict[str, list[Example]] = {}
        for example in examples:
            by_id[example.id] = example
            if "sample_id" in example.meta:
                by_id.setdefault(str(example.meta["sample_id"]), example)
            by_text.setdefault(example.question, []).append(example)
        alone = {text: found[0] for text, found in by_text.items() if len(found) == 1}
        return cls(task, by_id, alone)

    def joined(self, place: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
        """A row with its question; one that has a story stays as it is.

        Raises:
            UserError: If it is of no question of the task, or has other words than its question.
        """
        if row.get("story"):
            return row
        name, text = row.get("id", row.get("sample_id")), row.get("question")
        example = self.by_id.get(str(name)) if name is not None else self.by_text.get(str(text))
        if example is None:
            raise UserError(
                f"{place}: no story, and no question of {self.task} has the "
                f"{'id' if name is not None else 'text'} {name if name is not None else text!r}; "
                "add the story, or name another --benchmark"
            )
        if text and str(text).strip() != example.question:
            raise UserError(
                f"{place}: the question {name!r} of {self.task} is {example.question!r}, found "
                f"{text!r}; add the story, or name another --benchmark"
            )
        held = {
            "story": example.story,
            "question": example.question,
            "answer": example.answer,
            "choices": None if example.choices is None else list(example.choices),
            "order": example.order,
            "question_type": example.question_type,
            "answer_kind": example.answer_kind,
            "meta": dict(example.meta),
        }
        return {**row, **held}
