"""The results of a sweep as the table artifact that it leaves in Prefect."""

from __future__ import annotations

from pathlib import Path

from pipeline.analysis.findings import findings
from pipeline.analysis.results import Results
from pipeline.analysis.table import HEADINGS, cells_of
from pipeline.foreign import markdown_text
from pipeline.tracking_server import tracking_uri, without_secrets


def table_rows(results: Results) -> list[dict[str, str]]:
    """Return one row for each cell and task, by heading."""
    return [
        {"cell": row.cell, **dict(zip(HEADINGS, cells_of(row), strict=True))}
        for row in results.rows()
    ]


def description(results: Results, root: Path) -> str:
    """Return what the results show, in Markdown, with links to the report and to the runs."""
    study = results.params.study
    report = (root / "reports" / study.name / "index.html").as_uri()
    address = without_secrets(tracking_uri(root))
    runs = f"[MLflow]({address})" if address.startswith("http") else "MLflow: `tomrl ui`"
    sentences = "\n".join(f"- {markdown_text(sentence)}" for sentence in findings(results))
    return f"{markdown_text(study.title)}: [report]({report}), {runs}\n\n{sentences}\n"
