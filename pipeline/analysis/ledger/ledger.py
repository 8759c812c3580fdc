"""The ledger: every claim of the papers with what a study decides of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from pipeline.analysis.ledger.claim import Entry
from pipeline.analysis.ledger.claims import claims
from pipeline.analysis.ledger.decisions import WORDS
from pipeline.analysis.ledger.evidence import Evidence
from pipeline.analysis.ledger.of_study import evidence_of
from pipeline.analysis.results import Results
from pipeline.analysis.samples import Recorded
from pipeline.formats.foreign import markdown_table
from pipeline.formats.plural import counted

HEADINGS = ("claim", "made in", "it says", "word", "by what")

_RE_RUN = re.compile(r"arXiv \d{4}\.\d{5}(?: and arXiv \d{4}\.\d{5})*")


def ledger(results: Results, recorded: Recorded | None = None) -> list[Entry]:
    """Every claim with what a study decides; nothing of one that re-runs no paper."""
    if not re_runs_a_paper(results.params.study.paper):
        return []
    return entries(evidence_of(results, recorded))


def re_runs_a_paper(paper: str | None) -> bool:
    """Whether a study is of a whole paper.

    One that takes over its data alone, or what it asks for next, says so behind the paper's number.
    """
    return _RE_RUN.fullmatch(paper or "") is not None


def entries(evidence: Evidence) -> list[Entry]:
    return [claim.decided(evidence) for claim in claims()]


def ledger_summary(found: Sequence[Entry]) -> str:
    """In one sentence how many claims have which word."""
    count = Counter(each.word for each in found)
    said = ", ".join(f"{count[word]} {word}" for word in WORDS)
    return f"of {counted(len(found), 'claim')} of the papers: {said}"


def ledger_markdown(found: Sequence[Entry]) -> str:
    """The ledger in one sentence and a Markdown table; nothing where there are no claims."""
    if not found:
        return ""
    table = markdown_table(HEADINGS, (each.texts() for each in found))
    return f"{ledger_summary(found)}.\n\n{table}"
