"""The report: what the study found, for people and for machines."""

from __future__ import annotations

import os
from pathlib import Path

from pipeline.analysis.along import curves_markdown
from pipeline.analysis.details import details
from pipeline.analysis.figures import draw_all
from pipeline.analysis.ledger.ledger import ledger_markdown
from pipeline.analysis.packed import PARTS, Marked, packed, packed_tables, write_parts
from pipeline.analysis.page import render
from pipeline.analysis.published import published_markdown
from pipeline.analysis.results import Results
from pipeline.analysis.rollouts import SAMPLED
from pipeline.analysis.samples import Recorded, every_sample
from pipeline.analysis.seeds import seeds_markdown
from pipeline.analysis.steps import STEPS
from pipeline.analysis.summary import StudySummary, summarise
from pipeline.analysis.table import markdown
from pipeline.analysis.verdicts import verdicts_markdown
from pipeline.analysis.ways import WAYS
from pipeline.data.card import DatasetCard
from pipeline.formats.foreign import markdown_text
from pipeline.formats.plural import counted


def write_report(results: Results, recorded: Recorded, folder: Path) -> StudySummary:
    """Write ``index.html``, ``results.json``, ``report.md`` and the figures into a folder.

    Returns what it says. What the page shows on demand lies in ``parts``. A study with several
    seeds also gets ``seeds.md``: what training changed, with intervals.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures = draw_all(results)
    (folder / "figures").mkdir(exist_ok=True)
    for name, svg in figures.items():
        (folder / "figures" / f"{name}.svg").write_text(svg, encoding="utf-8")
    report = summarise(results, recorded)
    report.write(folder / "results.json")
    (folder / "report.md").write_text(_markdown(results, report), encoding="utf-8")
    if report.over_seeds:
        text = seeds_markdown(report.standings, report.over_seeds)
        (folder / "seeds.md").write_text(text, encoding="utf-8")
    runs = Path(os.path.relpath(recorded.runs, folder)).as_posix()
    samples, marked = every_sample(results, recorded), Marked()
    tables = details(results, report)
    inside, rows = packed(results, recorded, samples, marked), packed_tables(tables)
    (folder / "index.html").write_text(
        render(results, report, figures, tables, inside, rows, runs), encoding="utf-8"
    )
    write_parts(folder / PARTS, results, rows, samples, marked)
    return report


def _partial(report: StudySummary) -> str:
    """What a partial report lacks; nothing of a whole one."""
    lines = [f"- {markdown_text(key)}: {markdown_text(why)}" for key, why in report.missing.items()]
    cells = counted(len(lines), "cell")
    return "\n".join([f"Without results: {cells}.\n", *lines]) if lines else ""


def _of_data(name: str, card: DatasetCard) -> str:
    """What a combination was made from: rows, stories, orders, licences."""
    sets = (
        f"{part}: {counted(each.rows, 'row')}, stories: {each.stories}, "
        f"orders: {', '.join(each.orders) or 'none given'}"
        for part, each in card.sets.items()
    )
    licences = [f"{source}: {licence}" for source, licence in card.licences.items()]
    parts = (f"split {card.split}", *sets, f"licences: {', '.join(licences) or 'generated'}")
    return f"- {markdown_text(name)}: {markdown_text('; '.join(parts))}\n"


def _markdown(results: Results, report: StudySummary) -> str:
    """The report for a terminal or a pull request."""
    findings = "".join(f"- {markdown_text(each)}\n" for each in report.findings)
    parts = {
        "This report is partial": _partial(report),
        "Verdicts": verdicts_markdown(results, report.verdicts),
        "Results": markdown(results),
        "Test time or training": WAYS.markdown(report.test_time),
        "Step by step": STEPS.markdown(report.steps),
        "Along the training": curves_markdown(report.along),
        "What trainings sampled": SAMPLED.markdown(report.sampled),
        "Against the published results": published_markdown(report.published),
        "Claims": ledger_markdown(report.ledger),
        "What the numbers say": findings,
        "Data": "".join(_of_data(*each) for each in results.cards.items()),
        "Provenance": "".join(f"- {n}: {markdown_text(v)}\n" for n, v in report.provenance.items()),
    }
    title = f"# {markdown_text(results.params.study.title)}\n"
    if report.answer:
        title += f"\n{markdown_text(' '.join(report.answer))}\n"
    sections = [f"## {name}\n\n{text.rstrip()}\n" for name, text in parts.items() if text.strip()]
    return "\n".join([title, *sections])
