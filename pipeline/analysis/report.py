"""The HTML report: one self-contained page. Everything from models or data is escaped."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pipeline.analysis.against_paper import AgainstPaper, Compared, in_words
from pipeline.analysis.dvc_files import write_dvc_files
from pipeline.analysis.figures import draw_all
from pipeline.analysis.findings import findings
from pipeline.analysis.probes import ColumnProbe, column_probes, probe_points
from pipeline.analysis.published import HEADINGS as PUBLISHED_HEADINGS
from pipeline.analysis.published import BesidePublished, beside_published, published_markdown
from pipeline.analysis.results import Results, Row
from pipeline.analysis.seeds import (
    Change,
    Standing,
    change_texts,
    changes,
    seeds_markdown,
    standing_texts,
    standings,
)
from pipeline.analysis.square import HEADINGS as SQUARE_HEADINGS
from pipeline.analysis.square import Square, square_texts, squares
from pipeline.analysis.table import HEADINGS, lines_of, markdown, notes
from pipeline.analysis.verdicts import HEADINGS as VERDICT_HEADINGS
from pipeline.analysis.verdicts import CellVerdict, cell_verdicts, verdicts_markdown
from pipeline.records import Record

_FIGURE_TITLES = {
    "training-curves": "Training curves",
    "models-and-combinations": "What training changed, by model and training set",
    "transfer": "Transfer: trained on, asked",
    "orders": "Trained orders, asked orders",
    "trained-and-other-columns": "On trained columns and on others, by epoch",
    "accuracy-by-order": "Accuracy by belief order",
    "against-rules": "Against rules that learn nothing",
}


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
        published: The results beside those that this paper publishes, figure by figure.
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
    published: list[BesidePublished]


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
    stand = standings(results)
    columns = list(stand[0].columns) if stand else []
    verdicts = cell_verdicts(results)
    published = beside_published(results)
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
        published=published,
    ).write(folder / "results.json")
    write_dvc_files(results, folder)
    tables = f"{verdicts_markdown(verdicts)}\n{markdown(results)}"
    if published:
        tables += f"\n{published_markdown(published)}"
    (folder / "results.md").write_text(tables, encoding="utf-8")
    if over_seeds:
        (folder / "seeds.md").write_text(seeds_markdown(results, over_seeds), encoding="utf-8")
    page = (
        _environment()
        .get_template("report.html")
        .render(
            study=results.params.study,
            headings=HEADINGS,
            notes="; ".join(notes(results)),
            base_cards=results.base_cards,
            lines=[line for row in results.rows() for line in lines_of(row)],
            verdict_headings=VERDICT_HEADINGS,
            verdicts=verdicts,
            findings=sentences,
            over_seeds=[change_texts(change) for change in over_seeds],
            columns=columns,
            standings=[standing_texts(each, columns) for each in stand],
            square_headings=SQUARE_HEADINGS,
            squares=[square_texts(each) for each in squares(results)],
            probes={r.key: p for r in results.trained() if (p := probe_points(results, r))},
            figures=[(_FIGURE_TITLES[name], Markup(svg)) for name, svg in figures.items()],
            cells=results.cells,
            own_figures=any(s.own for r in results.cells.values() for s in r.tasks.values()),
            cards=results.cards,
            audit=results.audit,
            against=results.against,
            unlike=_unlike(results.against),
            published_headings=PUBLISHED_HEADINGS,
            published=published,
            won=results.audit.won_without_answer(),
        )
    )
    (folder / "index.html").write_text(page, encoding="utf-8")


def _unlike(found: AgainstPaper | None) -> list[tuple[str, list[Compared]]]:
    """Return what a study does otherwise than its paper, and what that leaves open."""
    if found is None:
        return []
    return [
        ("otherwise than stated", found.of("differs")),
        ("left open by the paper", found.of("open")),
    ]


def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("pipeline.analysis", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["in_words"] = in_words
    return made
