"""Comparing the solver with a benchmark's labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.tom.language import get_language
from pipeline.tom.parse.text import ParseError
from pipeline.tom.question import WhereQuestion
from pipeline.tom.rules import Rules
from pipeline.tom.solve import Answer, solve


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A row whose label is not what the story implies."""

    row: Mapping[str, Any]
    answer: str | None
    reason: str


@dataclass(slots=True)
class Agreement:
    """Agreement of labels and solver; the counters hold (agreeing, all) rows."""

    by_order: dict[str, tuple[int, int]] = field(default_factory=dict)
    by_type: dict[str, tuple[int, int]] = field(default_factory=dict)
    disagreements: list[Disagreement] = field(default_factory=list)
    total: int = 0

    @property
    def agreed(self) -> int:
        return self.total - len(self.disagreements)

    def as_json(self) -> dict[str, Any]:
        counts = {"agree": self.agreed, "of": self.total}
        return {**counts, "by_order": self.by_order, "by_type": self.by_type}

    @property
    def share(self) -> float:
        """1 for no rows."""
        return self.agreed / self.total if self.total else 1.0


def check(
    benchmark: str, rows: Iterable[Mapping[str, Any]], rules: Rules | None = None
) -> Agreement:
    """Solve every row and compare with its label.

    Args:
        benchmark: The language of the rows.
        rows: Mappings with ``story``, ``question`` and ``answer``; ``choices``, ``order`` and
            ``question_type`` are used where present, else read off the question.
        rules: By default, those behind the benchmark's labels.
    """
    report = Agreement()
    for row in rows:
        try:
            found = solve(benchmark, row["story"], row["question"], row.get("choices"), rules)
        except ParseError as error:
            found = Answer(None, str(error))
        agrees = _same(found.answer, row["answer"])
        order, kind = _order_and_kind(benchmark, row)
        for counts, key in ((report.by_order, order), (report.by_type, kind)):
            agreed, of = counts.get(key, (0, 0))
            counts[key] = agreed + agrees, of + 1
        report.total += 1
        if not agrees:
            report.disagreements.append(Disagreement(row, found.answer, found.reason))
    report.by_order = dict(sorted(report.by_order.items()))
    report.by_type = dict(sorted(report.by_type.items()))
    return report


def _same(found: str | None, label: str) -> bool:
    return found is not None and found.strip().lower() == label.strip().lower()


def _order_and_kind(benchmark: str, row: Mapping[str, Any]) -> tuple[str, str]:
    try:
        question = get_language(benchmark).question(row["question"])
    except ParseError:
        return str(row.get("order", "?")), str(row.get("question_type", "unreadable"))
    kind = type(question).__name__.removesuffix("Question").lower()
    if isinstance(question, WhereQuestion):
        kind = f"{question.aspect}, {question.when}"
    order = row.get("order")
    return str(question.order if order is None else order), str(row.get("question_type") or kind)
