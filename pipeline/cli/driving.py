"""Shared by commands that run a study: Prefect's server, the live table, exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from pipeline.base.processes import Terminated
from pipeline.cli.sweep_table import shown_live
from pipeline.cli.terminal import Terminal
from pipeline.ops.check.prefect_home import check_prefect

if TYPE_CHECKING:
    from flows.driver.record import RunFolder

console = Terminal()


@contextmanager
def driven(folder: RunFolder) -> Iterator[None]:
    """Give the block Prefect, and report how the run ends.

    Exits 1 if cells or a push fail, 130 or 143 if the run is stopped.
    """
    os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
    check_prefect()
    from prefect.exceptions import CancelledRun

    from flows.driver.stopping import StopRequested
    from flows.driver.work import RunFailed
    from flows.seen import looked_after
    from flows.server import start_temporary_server
    from flows.sweeps.push import NotPushed
    from pipeline.ops.driver.partial import partial_folder

    try:
        start_temporary_server()
        with looked_after(), shown_live(folder, console):
            yield
    except (KeyboardInterrupt, StopRequested, CancelledRun) as error:
        cause = error.by if isinstance(error, StopRequested) else error
        print("stopped; run it again to go on", file=sys.stderr)
        raise typer.Exit(143 if isinstance(cause, Terminated) else 130) from None
    except (NotPushed, RunFailed) as error:
        causes = error.causes if isinstance(error, RunFailed) else {}
        page = partial_folder(folder.home, folder.params().study.name) / "index.html"
        lines = [f"error: {error}", *(f"  {key}: {cause}" for key, cause in causes.items())]
        lines += [f"Partial report: {page}"] if causes and page.is_file() else []
        Terminal(stderr=True).say("\n".join(lines))
        raise typer.Exit(1) from None
