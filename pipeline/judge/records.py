"""What the stage ``judge`` writes: ``verdicts.json`` of a cell."""

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
    """The verdict on the answers to the questions of one task.

    Attributes:
        columns: The columns of the suite that ask its questions.
        answers: What the answers follow.
        by: The simpler mind or rule that they follow, or the parts of a mixture; else None.
        explained: Share of the answers that what is named predicts, or else the best rule or mind,
            on stories that it was not fitted to.
        found: From which accuracy ``beliefs``, and from which agreement a ``rule``, would have been
            found with probability 0.8; None where at none.
        answered: In how many responses an answer was read, and how some of the others begin.
        profile: What the answers show of each faculty of a mind.
        reasoning: What the reasoning is.
        answers_because: Why, in a sentence.
        reasoning_because: Why, in a sentence.
        evidence: All that was measured, by axis.
        signatures: Signatures that one set of responses can show.
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
        """What the answers follow, rule or mind by name."""
        return followed(self.answers, self.by)

    @property
    def rules(self) -> list[dict[str, Any]]:
        """What was measured against each rule, the most accurate rule first."""
        found: list[dict[str, Any]] = self.evidence.get("answers", {}).get("rules", [])
        return found

    @property
    def listed(self) -> list[dict[str, Any]]:
        """What was measured against the rules that are the same for every cell."""
        return [rule for rule in self.rules if rule["kind"] == LISTED]

    @property
    def figures(self) -> dict[str, float]:
        """The shares that cells are compared by, as far as they were measured.

        ``explained``: of the answers that the best rule or mind predicts; ``copied``: of those
        where it is wrong that are its own; of the reasoning what is ``true`` and ``consistent``,
        and how often an edit of it is followed (``used``).
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
        """A verdict as a record."""
        said = found.as_json()
        return cls(
            columns=columns,
            answers=said["answers"],
            by=said["by"],
            explained=said["explained"],
            found=said["found"],
            answered=said["answered"],
            profile=said["profile"],
            reasoning=said["reasoning"],
            answers_because=found.answers.because,
            reasoning_because=found.reasoning.because,
            evidence=said["evidence"],
            signatures=signatures,
        )


class Verdicts(Record):
    """The verdicts on a cell.

    Attributes:
        tasks: By task; none where the model was not run.
        absent: Why the model was not run, if it was not.
    """

    tasks: dict[str, TaskVerdict]
    absent: str | None = None

    @classmethod
    def read_of(cls, path: Path, tasks: Iterable[str], made_by: str) -> Self:
        """Read the verdicts on the answers to tasks.

        Args:
            path: The file.
            tasks: Names of the tasks.
            made_by: The DVC stage that writes it, for the error message.

        Raises:
            UserError: If it is missing, damaged, or of other tasks.
        """
        found = cls.read(path, made_by)
        if found.absent is None:
            refuse_foreign(path, "tasks", found.tasks, tasks, made_by)
        return found
