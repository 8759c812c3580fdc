"""The results of a run: the table in Prefect, and a partial report."""

from __future__ import annotations

import logging

from prefect.artifacts import create_table_artifact

from flows.driver.record import RunFolder
from pipeline.analysis.answer import answer
from pipeline.analysis.collect import collect
from pipeline.analysis.findings import findings
from pipeline.analysis.results import Results
from pipeline.analysis.signatures import cell_signatures
from pipeline.analysis.table import HEADINGS, cells_of
from pipeline.analysis.verdicts import cell_verdicts
from pipeline.base.errors import UserError
from pipeline.formats.files import discard
from pipeline.formats.foreign import markdown_code, markdown_text
from pipeline.ops.driver.partial import partial_folder, write_partial
from pipeline.ops.mirror.cell_run import current_study
from pipeline.ops.mirror.server import answering, prepare, tracking_uri, without_secrets

log = logging.getLogger(__name__)


def publish(folder: RunFolder) -> None:
    results = collect(folder.params(), folder.tree)
    said = description(results, folder)
    create_table_artifact(table_rows(results), key=folder.artifact, description=said)


def table_rows(results: Results) -> list[dict[str, str]]:
    return [dict(zip(HEADINGS, cells_of(row), strict=True)) for row in results.rows()]


def description(results: Results, folder: RunFolder) -> str:
    """Markdown with the findings and links to report and run.

    A page of Prefect may not link to a file; the run in MLflow has the report too.
    """
    page = run_page(folder)
    runs = f"[run in MLflow]({page})" if page else "runs: `tomrl ui`"
    report = folder.home / "reports" / results.params.study.name / "index.html"
    signatures = cell_signatures(results)
    said = markdown_text(" ".join(answer(results, cell_verdicts(results, signatures))))
    found = findings(results, signatures)
    sentences = "\n".join(f"- {markdown_text(sentence)}" for sentence in found)
    title = markdown_text(results.params.study.title)
    return f"{said}\n\n{title}: {runs}, report: {markdown_code(str(report))}\n\n{sentences}\n"


def run_page(folder: RunFolder) -> str:
    """The address of the study's run on an MLflow server, or the server's in an outage.

    Empty if the runs are in a database, which no server shows.
    """
    uri = tracking_uri(folder.home)
    if not uri.startswith("http"):
        return ""
    server, run = without_secrets(uri.rstrip("/")), None
    try:
        client = prepare(folder.home)
        with answering(uri):
            run = current_study(client, folder.params())
    except UserError as error:
        log.debug("no page of the run: %s", error)
    return f"{server}/#/experiments/{run.experiment_id}/runs/{run.run_id}" if run else server


def leave_partial_report(folder: RunFolder) -> None:
    """Write the report of the finished cells; failures of this do not fail the run."""
    params = folder.params()
    target = partial_folder(folder.home, params.study.name)
    if target.exists():
        discard(target)
    try:
        write_partial(params, folder.tree, target, folder.failures())
        log.info("partial report: %s", target / "index.html")
    except UserError as error:
        log.warning("there is no partial report: %s", error)
