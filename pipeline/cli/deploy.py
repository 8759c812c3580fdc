"""``tomrl deploy``: what a Prefect server needs to run studies and checks by itself."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape

from pipeline.cli.tables import make_list
from pipeline.cli.terminal import Terminal
from pipeline.ops.check.prefect_home import check_prefect
from pipeline.ops.driver.checkout import find_root

console = Terminal()


def deploy(
    notify: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE/NAME",
            help="A notification block of the server, told of runs that crash, fail or are late.",
        ),
    ] = None,
) -> None:
    """Put work pools, limits, deployments and automations on the Prefect server.

    The server is that of `PREFECT_API_URL`, the deployments are those of `prefect.yaml`. What is
    there already stays, so that it may be run again.

    Example: `PREFECT_API_URL=http://127.0.0.1:4200/api tomrl deploy`
    """
    check_prefect()
    from flows.deploy import deploy

    table = make_list()
    for entry in deploy(find_root(), notify):
        table.add_row(entry.how, entry.kind, escape(entry.name))
    console.print(table)
