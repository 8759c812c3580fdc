"""``tomrl sweep``: the cells of a study side by side, each in a git worktree, as one flow."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.base.ownership import owned
from pipeline.base.processes import Terminated, raise_on_sigterm
from pipeline.cli.sweep_table import shown_live, table_of
from pipeline.cli.terminal import Terminal
from pipeline.config.lookup import lookup
from pipeline.ops.driver.checkout import find_root

if TYPE_CHECKING:
    from flows.sweeps.record import SweepFolder

app = typer.Typer(
    invoke_without_command=True,
    help="Run all cells of a study, each in a git worktree of its own, as one flow that goes on "
    "past failed cells and takes up where it was.",
    epilog="Example: `tomrl sweep --study grid-mini`, then `tomrl sweep status`",
)
console = Terminal()
NoPush = Annotated[
    bool,
    typer.Option(
        "--no-push",
        help="Do not bring results and weights to the remote of DVC at the end.",
    ),
]
Concurrency = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Cores, or accelerators where models are not tiny ones, that cells may take at a "
        "time; all cores, or one accelerator, if left out.",
    ),
]


@app.callback()
def sweep(
    context: typer.Context,
    study: Annotated[
        str | None, typer.Option(help="A study of `tomrl study list`; else params.yaml's.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the sweep; that of its study if left out.")
    ] = None,
    concurrency: Concurrency = None,
    allow_edits: Annotated[
        bool,
        typer.Option("--allow-edits", help="Take what is not committed as it is, and record it."),
    ] = False,
    no_push: NoPush = False,
) -> None:
    """Run what is left of a sweep: shared stages once, then cells, then the report.

    Results and weights then go to DVC's default remote, if one is set.

    Example: `tomrl sweep --study grid-mini --concurrency 2`
    """
    if context.invoked_subcommand is not None:
        return
    from flows.sweeps.record import sweep_folder
    from flows.sweeps.start import ready, study_changed
    from pipeline.cli.study import check
    from pipeline.config.params_file import read_params

    root = find_root()
    study = study or read_params(root / "params.yaml").study.name
    check(root, study)
    folder = sweep_folder(root, name or study)
    raise_on_sigterm()
    with owned(folder.path, patience=0.0):
        if not ready(folder, study, allow_edits):
            console.say(f"study {study} is up to date: nothing to run")
            if not no_push and folder.exists():
                _push_owed(folder)
            return
        if study_changed(folder):
            console.say(
                f"studies/{study}.yaml was edited since sweep {folder.name} began, which goes on "
                "with its copy; for the edited study, begin another with: --name OTHER"
            )
        _run(root, folder.name, concurrency, (), pushing=not no_push)


@app.command()
def status(
    name: Annotated[
        str | None, typer.Argument(help="A sweep; all of them if left out.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one sweep a line.")] = False,
) -> None:
    """Say how sweeps stand: of each cell its stage, step, reward, length, time left, or why it
    failed.

    Example: `tomrl sweep status grid-mini`
    """
    from flows.sweeps.record import sweep_folder, sweep_names
    from flows.sweeps.status import standing

    root = find_root()
    names = [name] if name else sweep_names(root)
    if not names:
        console.say("no sweeps; start one with: tomrl sweep --study STUDY")
    for each in names:
        found = standing(sweep_folder(root, each))
        if as_json:
            print(json.dumps(found.as_json()))
            continue
        edits = ", with edits" if found.sweep.edited else ""
        console.say(f"{each}: study {found.sweep.study} at {found.sweep.commit[:12]}{edits}")
        console.say(found.summary())
        console.print(table_of(found.rows()))


@app.command()
def retry(
    name: Annotated[str, typer.Argument(help="A sweep of `tomrl sweep status`.")],
    cells: Annotated[
        list[str] | None, typer.Argument(help="Cells; all that failed if left out.")
    ] = None,
    concurrency: Concurrency = None,
    no_push: NoPush = False,
) -> None:
    """Run failed cells of a sweep again, and end it if that leaves nothing to do.

    Example: `tomrl sweep retry grid-mini nano-hi`
    """
    from flows.sweeps.record import sweep_folder
    from flows.sweeps.status import standing

    root = find_root()
    folder = sweep_folder(root, name)
    raise_on_sigterm()
    with owned(folder.path, patience=0.0):
        found = standing(folder)
        for key in cells or ():
            lookup(dict(found.cells), key, f"sweep {name}: cell")
        chosen = cells or [key for key, each in found.cells.items() if each.state == "failed"]
        if found.sweep.ended or not chosen:
            console.say(f"no cell of sweep {name} has failed: nothing to run")
            if not no_push:
                _push_owed(folder)
            return
        _run(root, name, concurrency, tuple(chosen), pushing=not no_push)


@app.command()
def cancel(name: Annotated[str, typer.Argument(help="A sweep that is under way.")]) -> None:
    """Stop a sweep that another process runs; it goes on from there when it is run again.

    Example: `tomrl sweep cancel grid-mini`
    """
    from flows.sweeps.cancel import cancel as stop
    from flows.sweeps.record import sweep_folder

    folder = sweep_folder(find_root(), name)
    stop(folder)
    console.say(f"stopped; go on with: tomrl sweep --study {folder.sweep().study} --name {name}")


def _push_owed(folder: SweepFolder) -> None:
    """Push what a sweep that has ended could not push; exits 1 if it fails again."""
    from flows.sweeps.push import NotPushed, push_rest

    if not (owed := folder.sweep().unpushed):
        return
    try:
        push_rest(folder)
    except KeyboardInterrupt as error:
        print("stopped; run it again to go on", file=sys.stderr)
        raise typer.Exit(143 if isinstance(error, Terminated) else 130) from None
    except NotPushed as error:
        Terminal(stderr=True).say(f"error: {error}")
        raise typer.Exit(1) from None
    console.say(f"pushed what sweep {folder.name} could not push before: {' && '.join(owed)}")


def _run(
    root: Path, name: str, concurrency: int | None, only: tuple[str, ...], *, pushing: bool
) -> None:
    """Run what is left of a sweep that this process owns; exits 1 if cells or a push fail."""
    os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
    from prefect.exceptions import CancelledRun

    from flows.seen import looked_after
    from flows.server import start_temporary_server
    from flows.sweeps.launch import launch
    from flows.sweeps.push import NotPushed
    from flows.sweeps.record import SweepFolder
    from flows.sweeps.work import CellFailed
    from pipeline.ops.driver.partial import partial_folder

    folder = SweepFolder(root, name)
    try:
        start_temporary_server()
        with looked_after(), shown_live(folder, console):
            failed = launch(folder, concurrency, only, pushing=pushing)
    except (KeyboardInterrupt, CancelledRun) as error:
        print("stopped; run it again to go on", file=sys.stderr)
        raise typer.Exit(143 if isinstance(error, Terminated) else 130) from None
    except NotPushed as error:
        Terminal(stderr=True).say(f"error: {error}")
        raise typer.Exit(1) from None
    except CellFailed as error:
        Terminal(stderr=True).say(
            f"error: {error}. All output is in {folder.path / 'logs'}; run it again to go on"
        )
        raise typer.Exit(1) from None
    if failed:
        params = folder.params()
        cells, page = len(params.cells), partial_folder(root, params.study.name) / "index.html"
        Terminal(stderr=True).say(
            "\n".join(
                [
                    f"error: {len(failed)} of {cells} cells failed; run them again "
                    f"with: tomrl sweep retry {name}",
                    *(f"  {key}: {cause}" for key, cause in failed.items()),
                    *([f"What is there: {page}"] if page.is_file() else []),
                ]
            )
        )
        raise typer.Exit(1)
