"""The report's page, which needs no network. Everything from models or data is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pipeline.analysis.against_paper import AgainstPaper, Compared, in_words
from pipeline.analysis.decisive import panels
from pipeline.analysis.details import Details
from pipeline.analysis.ledger.ledger import HEADINGS as LEDGER_HEADINGS
from pipeline.analysis.ledger.ledger import ledger_summary
from pipeline.analysis.looks import SHAPES, looks
from pipeline.analysis.packed import PARTS
from pipeline.analysis.published import HEADINGS as PUBLISHED_HEADINGS
from pipeline.analysis.results import Results
from pipeline.analysis.rollouts import SAMPLED
from pipeline.analysis.run_links import run_link
from pipeline.analysis.seeds import change_texts, standing_texts
from pipeline.analysis.square import SQUARE
from pipeline.analysis.steps import STEPS
from pipeline.analysis.summary import StudySummary
from pipeline.analysis.table import HEADINGS, lines_of, notes
from pipeline.analysis.ways import WAYS
from pipeline.formats.plural import counted
from pipeline.judge.columns import judged_together
from pipeline.rules.words import what_it_does
from pipeline.tom.minds import MINDS

_FIGURE_TITLES = {
    "models-and-combinations": "What training changed, by model and training set",
    "transfer": "Transfer: trained on, asked",
    "along-the-training": "Accuracy on each column along the training",
    "accuracy-by-order": "Accuracy by belief order",
    "against-rules": "Against rules that learn nothing",
}
"""The figures on the page; training curves are drawn there from their numbers."""

LARGEST_FIGURES = 600_000
"""Characters that all figures may take inside the page."""

LARGEST_TABLES = 200_000
"""Characters that the rows of long tables may take there."""

_TEMPLATES = "templates"


def render(
    results: Results,
    report: StudySummary,
    figures: Mapping[str, str],
    tables: Sequence[Details],
    packed: str,
    rows: str,
    runs: str,
) -> str:
    """The page.

    Args:
        results: The results of the study.
        report: What there is to say of them.
        figures: SVG texts by name.
        tables: The long tables, of which the page has all but the rows.
        packed: Some samples, see :func:`pipeline.analysis.packed.packed`.
        rows: Those of the tables, packed; where they are too long, the page reads them from
            beside it.
        runs: The folder of the cells' results, as the page's links name it.
    """
    columns = list(report.standings[0].columns) if report.standings else []
    suite = results.params.suite.tasks
    template = environment().get_template("report.html")
    said = (
        vars(results)
        | dict(report)
        | {
            "study": results.params.study,
            "over_seeds": [change_texts(change) for change in report.over_seeds],
            "standings": [standing_texts(each, columns) for each in report.standings],
        }
    )
    return template.render(
        said,
        glossary=_glossary(report),
        style=_vendored("report.css", "vendor/uPlot.min.css"),
        script=_vendored("vendor/uPlot.min.js", "report.js"),
        licence=_vendored("vendor/uPlot.LICENSE"),
        packed=packed,
        tables=rows if len(rows) <= LARGEST_TABLES else "",
        body=body(PARTS),
        headings=HEADINGS,
        notes="; ".join(notes(results)),
        lines=[line for row in report.rows for line in lines_of(row)],
        squares_of={(each.cell, each.task): each for each in report.verdicts},
        runs_of=run_link(results.params.study.name, "{cell}"),
        tasks=list(dict.fromkeys(each.task for each in report.verdicts)),
        column_of={
            task: names[0] if len(names) == 1 else ""
            for task, names in judged_together(suite).items()
        },
        panels=panels(results),
        looks=looks(results),
        shapes=SHAPES,
        runs=runs,
        columns=columns,
        step_table=STEPS,
        square_table=SQUARE,
        test_time=report.test_time,
        test_time_table=WAYS,
        sampled_table=SAMPLED,
        details=tables,
        figures=list(_shown(figures)),
        has_curves=any(result.curve for result in results.trained()),
        unlike=_unlike(results.against),
        published_headings=PUBLISHED_HEADINGS,
        ledger_headings=LEDGER_HEADINGS,
        ledger_summary=ledger_summary(report.ledger),
        won=results.audit.won_without_answer(),
    )


def body(parts: str, server: str = "", experiment: str = "") -> Markup:
    """The tag that says where things are: a copy of the page elsewhere has another one.

    Args:
        parts: The folder of what is shown on demand, as seen from the page.
        server: The address of MLflow, if not the usual one.
        experiment: The id of the experiment there.
    """
    found = {"parts": parts, "mlflow": server, "experiment": experiment}
    said = [Markup(' data-{}="{}"').format(name, value) for name, value in found.items() if value]
    return Markup("<body{}>").format(Markup().join(said))


def _shown(figures: Mapping[str, str]) -> Iterator[tuple[str, str, Markup | None]]:
    """Yield name, title and drawing of the page's figures; large ones are read from beside it."""
    shown = {name: figures[name] for name in _FIGURE_TITLES if name in figures}
    fit = sum(map(len, shown.values())) <= LARGEST_FIGURES
    for name, drawing in shown.items():
        yield name, _FIGURE_TITLES[name], Markup(drawing) if fit else None


def _glossary(report: StudySummary) -> dict[str, str]:
    named = [each.by for each in report.verdicts] + [row.rule_name for row in report.rows]
    told = {name: what_it_does(name) for name in sorted({*filter(None, named), *MINDS})}
    return {name: does for name, does in told.items() if does}


def _unlike(found: AgainstPaper | None) -> list[tuple[str, list[Compared]]]:
    """What a study does otherwise than its paper, and what that leaves open."""
    if found is None:
        return []
    return [
        ("otherwise than stated", found.of("differs")),
        ("left open by the paper", found.of("open")),
    ]


def _vendored(*names: str) -> Markup:
    """Files beside the template, as they are: no text of models or data is in them."""
    folder = files("pipeline.analysis") / _TEMPLATES
    return Markup("\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names))


def environment() -> Environment:
    """What fills templates in: everything that is put into one is escaped."""
    made = Environment(
        loader=PackageLoader("pipeline.analysis", _TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["in_words"] = in_words
    made.filters["counted"] = counted
    return made
