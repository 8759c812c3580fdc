"""``verdicts.json`` of a cell, written by the stage ``judge``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field

from pipeline.formats.records import Record, refuse_foreign
from pipeline.judge.answers import followed
from pipeline.judge.decision import Follow
from pipeline.judge.followers import Kind
from pipeline.judge.verdict import Verdict

LISTED = Kind.LISTED.name.lower()
Reasoning = Literal["faithful", "plausible", "unfaithful", "absent", "unreadable"]


class TaskVerdict(Record):
    """The verdict on the answers to one task.

    Attributes:
        answers: What the answers follow.
        by: The mind or rule, or the parts of a mixture; else None.
        explained: Share of answers that it predicts, or else the best rule or mind, out of fold.
        found: The least accuracy for ``beliefs`` and agreement for a ``rule`` that are detected
            with probability 0.8, if any.
        answered: Number of responses with an answer, and beginnings of some of the others.
    """

    columns: list[str]
    answers: Follow
    by: str | None
    explained: float
    found: dict[str, float | None]
    answered: dict[str, Any]
    profile: list[dict[str, Any]]
    reasoning: Reasoning
    answers_because: str
    reasoning_because: str
    evidence: dict[str, Any] = Field(default_factory=dict)
    signatures: list[dict[str, Any]] = Field(default_factory=list)

    @property
    def follow(self) -> str:
        return followed(self.answers, self.by)

    @property
    def rules(self) -> list[dict[str, Any]]:
        """Comparisons with all rules, the most accurate first."""
        found: list[dict[str, Any]] = self.evidence.get("answers", {}).get("rules", [])
        return found

    @property
    def listed(self) -> list[dict[str, Any]]:
        return [rule for rule in self.rules if rule["kind"] == LISTED]

    @property
    def figures(self) -> dict[str, float]:
        """The shares for comparison of cells, as far as measured.

        ``explained`` by the best rule or mind; ``copied`` where it is wrong; ``true`` and
        ``consistent`` reasoning; edits followed (``used``).
        """
        answers, reasoning = (self.evidence.get(axis, {}) for axis in ("answers", "reasoning"))
        best = next((r for r in self.rules if r["rule"] == answers.get("best")), {})
        found = {"copied": best.get("copied")} | {
            name: reasoning.get(name) for name in ("true", "consistent", "used")
        }
        shares = {name: float(share["value"]) for name, share in found.items() if share}
        return {"explained": self.explained} | shares

    @classmethod
    def of(cls, columns: list[str], found: Verdict, signatures: list[dict[str, Any]]) -> Self:
        return cls(
            columns=columns,
            **found.as_json(),
            answers_because=found.answers.because,
            reasoning_because=found.reasoning.because,
            signatures=signatures,
        )


class Verdicts(Record):
    """The verdicts on a cell, by task; ``absent`` says why the model was not run."""

    tasks: dict[str, TaskVerdict]
    absent: str | None = None

    @classmethod
    def read_of(cls, path: Path, tasks: Iterable[str], made_by: str) -> Self:
        """Read the verdicts on exactly these tasks; UserError for others or a damaged file."""
        found = cls.read(path, made_by)
        if found.absent is None:
            refuse_foreign(path, "tasks", found.tasks, tasks, made_by)
        return found
