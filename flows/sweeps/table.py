"""The results of a sweep as the table artifact that it leaves in Prefect."""

from __future__ import annotations

from pathlib import Path

from pipeline.analysis.findings import findings
from pipeline.analysis.results import Results
from pipeline.analysis.signatures import cell_signatures
from pipeline.analysis.table import HEADINGS, cells_of
from pipeline.formats.foreign import markdown_code, markdown_text


def table_rows(results: Results) -> list[dict[str, str]]:
    """Return one row for each cell and task, by heading."""
    return [
        {"cell": row.cell, **dict(zip(HEADINGS, cells_of(row), strict=True))}
        for row in results.rows()
    ]


def description(results: Results, report: Path, run_page: str) -> str:
    """Return what the results show, in Markdown, and where the report is.

    A page of Prefect may not link to a file.

    Args:
        results: What the report shows.
        report: Its file.
        run_page: Address of the study's run in MLflow, which has the report too; empty where no
            server shows it.
    """
    runs = f"[run in MLflow]({run_page})" if run_page else "runs: `tomrl ui`"
    said = findings(results, cell_signatures(results))
    sentences = "\n".join(f"- {markdown_text(sentence)}" for sentence in said)
    title = markdown_text(results.params.study.title)
    return f"{title}: {runs}, report: {markdown_code(str(report))}\n\n{sentences}\n"
