"""The report: what the study found, for people and for machines."""

from __future__ import annotations

from pathlib import Path

from pipeline.analysis.against_paper import AgainstPaper
from pipeline.analysis.dvc_files import write_dvc_files
from pipeline.analysis.figures import draw_all
from pipeline.analysis.findings import findings
from pipeline.analysis.page import render
from pipeline.analysis.probes import ColumnProbe, column_probes
from pipeline.analysis.results import Results, Row
from pipeline.analysis.samples import Recorded
from pipeline.analysis.seeds import Change, Standing, changes, seeds_markdown, standings
from pipeline.analysis.square import Square, squares
from pipeline.analysis.table import markdown
from pipeline.analysis.verdicts import CellVerdict, cell_verdicts, verdicts_markdown
from pipeline.foreign import markdown_text
from pipeline.records import Record


class Report(Record):
    """``results.json``: everything that the report says, for machines.

    Attributes:
        study: Name of the study.
        rows: The result table.
        over_seeds: What training changed, over seeds.
        standings: What base models, trained cells and rules score, over seeds.
        squares: Both models asked with both prompts, where they were.
        probes: Accuracy on trained columns and on others while training went on.
        verdicts: What the answers of each cell follow, and what its reasoning is.
        findings: What the numbers say, in sentences.
        against_paper: The study beside the paper that it re-runs, statement by statement.
        provenance: What the results were made from.
    """

    study: str
    rows: list[Row]
    over_seeds: list[Change]
    standings: list[Standing]
    squares: list[Square]
    probes: list[ColumnProbe]
    verdicts: list[CellVerdict]
    findings: list[str]
    against_paper: AgainstPaper | None
    provenance: dict[str, str]


def write_report(results: Results, recorded: Recorded, folder: Path) -> None:
    """Write ``index.html``, ``results.json``, ``report.md`` and the figures into a folder.

    A study with several seeds also gets ``seeds.md``: what training changed, with intervals.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures = draw_all(results)
    (folder / "figures").mkdir(exist_ok=True)
    for name, svg in figures.items():
        (folder / "figures" / f"{name}.svg").write_text(svg, encoding="utf-8")
    sentences, over_seeds = findings(results), changes(results)
    stand = standings(results)
    verdicts = cell_verdicts(results)
    Report(
        study=results.params.study.name,
        rows=results.rows(),
        over_seeds=over_seeds,
        standings=stand,
        squares=squares(results),
        probes=column_probes(results),
        verdicts=verdicts,
        findings=sentences,
        against_paper=results.against,
        provenance=dict(recorded.provenance),
    ).write(folder / "results.json")
    write_dvc_files(results, folder)
    text = _markdown(results, verdicts, sentences)
    (folder / "report.md").write_text(text, encoding="utf-8")
    if over_seeds:
        (folder / "seeds.md").write_text(seeds_markdown(results, over_seeds), encoding="utf-8")
    page = render(results, verdicts, sentences, over_seeds, stand, figures, recorded)
    (folder / "index.html").write_text(page, encoding="utf-8")


def _markdown(results: Results, verdicts: list[CellVerdict], sentences: list[str]) -> str:
    """Return the report for a terminal or a pull request."""
    parts = [
        f"# {markdown_text(results.params.study.title)}",
        f"## Verdicts\n\n{verdicts_markdown(verdicts)}",
        f"## Results\n\n{markdown(results)}",
        "## What the numbers say\n\n" + "".join(f"- {markdown_text(each)}\n" for each in sentences),
    ]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"
