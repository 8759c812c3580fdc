"""All that a report says of a study, as one record."""

from __future__ import annotations

from pydantic import Field

from pipeline.analysis.against_paper import AgainstPaper
from pipeline.analysis.along import ColumnCurve, column_curves, curve_findings
from pipeline.analysis.answer import answer
from pipeline.analysis.findings import findings
from pipeline.analysis.ledger.claim import Entry
from pipeline.analysis.ledger.ledger import ledger
from pipeline.analysis.published import BesidePublished, beside_published
from pipeline.analysis.results import Results, Row
from pipeline.analysis.samples import Recorded
from pipeline.analysis.seeds import SeedChange, Standing, changes, standings
from pipeline.analysis.signatures import CellSignature, cell_signatures
from pipeline.analysis.square import squares
from pipeline.analysis.steps import steps
from pipeline.analysis.tables import Line
from pipeline.analysis.verdicts import CellVerdict, cell_verdicts
from pipeline.analysis.ways import ways_compared
from pipeline.formats.records import Record


class StudySummary(Record):
    """``results.json``: everything that the report says, for machines.

    Attributes:
        study: Name of the study.
        answer: The answer to its question: what each training has models do.
        missing: The cells that a partial report lacks: ``failed: CAUSE`` or ``not run``.
        rows: The result table.
        over_seeds: What training changed, over seeds.
        standings: What base models, trained cells and rules score, over seeds.
        squares: Both models asked with both prompts, where they were.
        test_time: What trained cells and prompt programs get right, beside the tokens of an answer.
        steps: What each training of a chain changed, beside all of them together.
        along: Accuracy on each column along each training whose steps were asked.
        sampled: What each training sampled, early beside late.
        verdicts: What the answers of each cell follow, and what its reasoning is.
        signatures: Every signature that was looked for, in responses and in training.
        findings: What the numbers say, in sentences.
        against_paper: The study beside the paper that it re-runs, statement by statement.
        published: The results beside those that this paper publishes, figure by figure.
        provenance: What the results were made from.
        ledger: The claims of the papers, each with what the results decide of it.
    """

    study: str
    answer: list[str] = Field(default_factory=list)
    missing: dict[str, str]
    rows: list[Row]
    over_seeds: list[SeedChange]
    standings: list[Standing]
    squares: list[Line]
    test_time: list[Line] = Field(default_factory=list, exclude_if=lambda found: not found)
    steps: list[Line] = Field(default_factory=list, exclude_if=lambda found: not found)
    along: list[ColumnCurve] = Field(default_factory=list, exclude_if=lambda found: not found)
    sampled: list[Line] = Field(default_factory=list, exclude_if=lambda found: not found)
    verdicts: list[CellVerdict]
    signatures: list[CellSignature]
    findings: list[str]
    against_paper: AgainstPaper | None
    published: list[BesidePublished]
    provenance: dict[str, str]
    ledger: list[Entry] = Field(default_factory=list)


def summarise(results: Results, recorded: Recorded) -> StudySummary:
    """What there is to say of a study."""
    signatures = cell_signatures(results)
    verdicts = cell_verdicts(results, signatures)
    along = column_curves(results)
    return StudySummary(
        study=results.params.study.name,
        answer=answer(results, verdicts),
        missing={key: why.text() for key, why in results.missing().items()},
        rows=results.rows(),
        over_seeds=changes(results),
        standings=standings(results),
        squares=squares(results),
        test_time=ways_compared(results),
        steps=steps(results),
        along=along,
        sampled=list(recorded.sampled),
        verdicts=verdicts,
        signatures=signatures,
        findings=[*findings(results, signatures), *curve_findings(along)],
        against_paper=results.against,
        published=beside_published(results),
        provenance=dict(recorded.provenance),
        ledger=ledger(results, recorded),
    )
