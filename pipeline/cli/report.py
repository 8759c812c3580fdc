"""``tomrl report``: a study's results on the screen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from pipeline.base.errors import UserError
from pipeline.cli.output import write_output
from pipeline.cli.terminal import Terminal
from pipeline.config.params import Params
from pipeline.config.params_file import read_params
from pipeline.formats.plural import counted
from pipeline.ops.driver.checkout import find_root

if TYPE_CHECKING:
    from pipeline.analysis.results import Results
    from pipeline.analysis.run_links import RunsAt

console = Terminal()


def report(
    partial: Annotated[
        bool,
        typer.Option(
            "--partial",
            help="Show the cells that have results; the others are marked failed or not run.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print all that the report says as JSON: results.json.")
    ] = False,
) -> None:
    """Print the result table of the study in use, and where its report and its runs are.

    Example: `tomrl report` or `tomrl report --json`
    """
    from pipeline.ops.mirror.ran import copied_page, write_with_runs

    root = find_root()
    params = read_params(root / "params.yaml")
    results, page = _partial(params, root) if partial else _whole(params, root)
    if as_json:
        write_output(Path("-"), _results_text(page.parent / "results.json"))
        return
    _show(results)
    _show_ledger(page.parent / "results.json")
    runs_at, where = _runs_at(root)
    copy = page
    if page.is_file():
        copy = page if partial else copied_page(root, params.study.name)
        write_with_runs(params, root, page, copy, runs_at)
    console.print(f"\nReport:  {escape(str(copy))}", soft_wrap=True, highlight=False)
    details = page.with_name("report.md")
    console.print(f"Details: {escape(str(details))}", soft_wrap=True, highlight=False)
    if copy != page:
        text = f"Tracked: {page}, the same without commit, machines and durations"
        console.print(escape(text), soft_wrap=True, highlight=False)
    console.print(f"MLflow:  {escape(where)}", soft_wrap=True, highlight=False)


def _whole(params: Params, root: Path) -> tuple[Results, Path]:
    """The complete results of a study with its page, or a UserError."""
    from pipeline.analysis.collect import collect, lacking

    try:
        return collect(params, root), root / "reports" / params.study.name / "index.html"
    except UserError as error:
        missing = lacking(params, root)
        if not missing or len(missing) == len(params.cells):
            raise
        raise UserError(
            f"{error}. {len(missing)} of {counted(len(params.cells), 'cell')} have no results; see "
            "those of the others with: tomrl report --partial"
        ) from None


def _partial(params: Params, root: Path) -> tuple[Results, Path]:
    """Write the report of the finished cells, and return these with its page.

    Those of an unfinished sweep are taken from its worktree, if it has more of them.
    """
    from flows.sweeps.record import unfinished
    from pipeline.analysis.collect import lacking
    from pipeline.ops.driver.partial import partial_folder, write_partial
    from pipeline.stages.followed import causes

    sweeps = unfinished(root, params)
    known = {key: why for sweep in sweeps for key, why in sweep.failures().items()}
    places = [root, *(sweep.tree for sweep in sweeps)]
    place = min(places, key=lambda each: len(lacking(params, each)))
    target = partial_folder(root, params.study.name)
    found = write_partial(params, place, target, known | causes(params, root))
    missing = found.missing()
    console.say(f"partial: {len(missing)} of {counted(len(found.cells), 'cell')} have no results")
    return found, target / "index.html"


def _results_text(path: Path) -> str:
    if not path.is_file():
        raise UserError(f"{path}: there is no such file; make the report with: dvc repro report")
    return path.read_text(encoding="utf-8")


def _show(results: Results) -> None:
    from pipeline.analysis.answer import answer
    from pipeline.analysis.signatures import cell_signatures
    from pipeline.analysis.table import rich_table
    from pipeline.analysis.verdicts import cell_verdicts, verdict_table

    signatures = cell_signatures(results)
    verdicts = cell_verdicts(results, signatures)
    console.print(rich_table(results, console.width))
    console.print(verdict_table(results, verdicts))
    for sentence in answer(results, verdicts):
        console.print(escape(sentence), style="bold", highlight=False)


def _show_ledger(path: Path) -> None:
    from pipeline.analysis.ledger.ledger import ledger_summary
    from pipeline.analysis.summary import StudySummary

    found = StudySummary.read(path, "report").ledger if path.is_file() else []
    if found:
        console.print(f"- {escape(ledger_summary(found))}; the report has each.", highlight=False)


def _runs_at(root: Path) -> tuple[RunsAt | None, str]:
    """The server of the runs, if any, and a line about it."""
    from pipeline.analysis.run_links import RunsAt
    from pipeline.ops.mirror.server import EXPERIMENT, prepare, tracking_uri, without_secrets

    uri = tracking_uri(root)
    if not uri.startswith("http"):
        return None, ".venv/bin/tomrl ui"
    server = without_secrets(uri).rstrip("/")
    try:
        experiment = prepare(root).get_experiment_by_name(EXPERIMENT).experiment_id
    except UserError:
        return None, f"{server}, which does not answer"
    return RunsAt(server, str(experiment)), server
