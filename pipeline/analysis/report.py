"""The HTML report: one self-contained page. Everything from models or data is escaped."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pipeline.analysis.dvc_files import write_dvc_files
from pipeline.analysis.figures import draw_all
from pipeline.analysis.findings import findings
from pipeline.analysis.probes import ColumnProbe, column_probes, probe_points
from pipeline.analysis.results import Results, Row
from pipeline.analysis.seeds import Change, change_texts, changes, seeds_markdown
from pipeline.analysis.table import HEADINGS, cells_of, markdown
from pipeline.records import Record

_FIGURE_TITLES = {
    "training-curves": "Training curves",
    "in-and-out-of-distribution": "In and out of distribution, by epoch",
    "accuracy-by-order": "Accuracy by belief order",
    "against-rules": "Against rules that learn nothing",
}


class Report(Record):
    """``results.json``: everything that the report says, for machines.

    Attributes:
        study: Name of the study.
        rows: The result table.
        over_seeds: What training changed, over seeds.
        probes: Accuracy in and out of distribution while training went on.
        findings: What the numbers say, in sentences.
    """

    study: str
    rows: list[Row]
    over_seeds: list[Change]
    probes: list[ColumnProbe]
    findings: list[str]


def write_report(results: Results, folder: Path) -> None:
    """Write ``index.html``, ``results.json``, ``results.md`` and the figures into a folder.

    A study with several seeds also gets ``seeds.md``: what training changed, with intervals.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures = draw_all(results)
    (folder / "figures").mkdir(exist_ok=True)
    for name, svg in figures.items():
        (folder / "figures" / f"{name}.svg").write_text(svg, encoding="utf-8")
    sentences, over_seeds = findings(results), changes(results)
    Report(
        study=results.params.study.name,
        rows=results.rows(),
        over_seeds=over_seeds,
        probes=column_probes(results),
        findings=sentences,
    ).write(folder / "results.json")
    write_dvc_files(results, folder)
    (folder / "results.md").write_text(markdown(results), encoding="utf-8")
    if over_seeds:
        (folder / "seeds.md").write_text(seeds_markdown(over_seeds), encoding="utf-8")
    page = (
        _environment()
        .get_template("report.html")
        .render(
            study=results.params.study,
            headings=HEADINGS,
            lines=[cells_of(row) for row in results.rows()],
            findings=sentences,
            over_seeds=[change_texts(change) for change in over_seeds],
            probes={r.key: p for r in results.trained() if (p := probe_points(results, r))},
            figures=[(_FIGURE_TITLES[name], Markup(svg)) for name, svg in figures.items()],
            cells=results.cells,
            cards=results.cards,
            audit=results.audit,
        )
    )
    (folder / "index.html").write_text(page, encoding="utf-8")


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("pipeline.analysis", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
