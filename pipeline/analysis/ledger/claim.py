"""A claim of a paper, and what is decided of it."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.analysis.ledger.decisions import Effect, Word
from pipeline.analysis.ledger.evidence import Evidence
from pipeline.analysis.ledger.predicates import Test
from pipeline.formats.records import Record


@dataclass(frozen=True, slots=True)
class PaperClaim:
    """A claim.

    Attributes:
        id: Its name.
        source: The paper with its version, and the place in it.
        says: What it says, in our words.
        needs: What a study must have for it.
        decide: What decides it.
    """

    id: str
    source: str
    says: str
    needs: str
    decide: Test

    def decided(self, evidence: Evidence) -> Entry:
        """The line of the ledger."""
        found = self.decide(evidence)
        named = {name: getattr(self, name) for name in ("id", "source", "says", "needs")}
        return Entry(**named, word=found.word, why=found.text(), effects=list(found.effects))


class Entry(Record):
    """One line of the ledger.

    Attributes:
        id: Name of the claim.
        source: Where it is made.
        says: What it says.
        needs: What a study must have for it.
        word: ``supported``, ``contradicted``, ``undecided`` or ``not run``.
        why: Effects with intervals; where they decide nothing, what would have shown; what is
            missing where it was not run.
        effects: What it is decided by.
    """

    id: str
    source: str
    says: str
    needs: str
    word: Word
    why: str
    effects: list[Effect]

    def texts(self) -> tuple[str, ...]:
        why = f"{self.why}; needs {self.needs}" if self.word == "not run" else self.why
        return (self.id, self.source, self.says, self.word, why)
