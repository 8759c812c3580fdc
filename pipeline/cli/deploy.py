"""``tomrl deploy``: setting up a Prefect server."""

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
            help="A notification block of the server, for runs that crash, fail or are late.",
        ),
    ] = None,
) -> None:
    """Set up a Prefect server: work pools, limits, deployments and automations.

    `PREFECT_API_URL` names the server, and `prefect.yaml` lists the deployments. Run it again at
    any time: pools and limits that are there stay as they are; deployments and automations follow
    the files.

    Example: `PREFECT_API_URL=http://127.0.0.1:4200/api tomrl deploy`
    """
    check_prefect()
    from flows.deploy import deploy

    table = make_list()
    for entry in deploy(find_root(), notify):
        table.add_row(entry.how, entry.kind, escape(entry.name))
    console.print(table)
