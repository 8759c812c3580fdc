"""``tomrl sweep``: a study in a git worktree at a commit, with a record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.base.ownership import owned
from pipeline.base.processes import raise_on_sigterm
from pipeline.cli.output import print_json
from pipeline.cli.sweep_table import table_of
from pipeline.cli.terminal import Terminal
from pipeline.ops.driver.checkout import find_root

if TYPE_CHECKING:
    from flows.sweeps.record import SweepFolder

app = typer.Typer(
    invoke_without_command=True,
    help="Run a study like `tomrl run`, but in a git worktree at the current commit. Keeps a "
    "record of what ran, and pushes the results at the end.",
    epilog="Example: `tomrl sweep --study grid-mini`, then `tomrl sweep status`",
)
console = Terminal()
NoPush = Annotated[
    bool,
    typer.Option(
        "--no-push",
        help="Do not push results and weights to DVC's remote at the end.",
    ),
]
Concurrency = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="How many cores the cells may use at a time (accelerators, if models are not tiny). "
        "By default all there are.",
    ),
]


@app.callback()
def sweep(
    context: typer.Context,
    study: Annotated[
        str | None,
        typer.Option(
            help="A study of `tomrl study list`; by default that of the sweep, or of params.yaml."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the sweep; by default that of its study.")
    ] = None,
    concurrency: Concurrency = None,
    allow_edits: Annotated[
        bool,
        typer.Option("--allow-edits", help="Include uncommitted edits, and record them."),
    ] = False,
    no_push: NoPush = False,
) -> None:
    """Run what is left of a sweep: shared stages once, then the cells, then the report.

    Then push results and weights to DVC's default remote, if one is set.

    Example: `tomrl sweep --study grid-mini --concurrency 2`
    """
    if context.invoked_subcommand is not None:
        return
    from flows.sweeps.record import sweep_folder
    from flows.sweeps.start import ready, study_changed
    from pipeline.cli.study import check
    from pipeline.config.params_file import read_params

    root = find_root()
    if study is None and name is not None and (there := sweep_folder(root, name)).exists():
        study = there.sweep().study
    elif study is None:
        study = read_params(root / "params.yaml").study.name
    check(root, study)
    folder = sweep_folder(root, study if name is None else name)
    raise_on_sigterm()
    with owned(folder.path, patience=0.0):
        if not ready(folder, study, allow_edits):
            console.say(f"study {study} is up to date: nothing to run")
            if folder.exists() and not no_push:
                _push(folder)
            return
        if study_changed(folder):
            console.say(
                f"studies/{study}.yaml was edited after sweep {folder.name} began; the sweep goes "
                "on with its own copy. To run the edited study, begin another sweep: --name OTHER"
            )
        _run(folder, concurrency, pushing=not no_push)


@app.command()
def status(
    name: Annotated[
        str | None, typer.Argument(help="A sweep; by default all.", show_default=False)
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON, one line per sweep.")
    ] = False,
) -> None:
    """Show how sweeps stand: each cell's stage, step, reward, length and time left, or why it
    failed.

    Example: `tomrl sweep status grid-mini`
    """
    from flows.driver.record import standing
    from flows.sweeps.record import sweep_folder, sweep_names

    root = find_root()
    names = [name] if name else sweep_names(root)
    if not names:
        console.say("no sweeps; start one with: tomrl sweep --study STUDY")
    for each in names:
        folder = sweep_folder(root, each)
        made, found = folder.sweep(), standing(folder)
        if as_json:
            cells = {key: state.model_dump(mode="json") for key, state in found.cells.items()}
            more = {"under_way": found.under_way, "cells": cells}
            print_json({**made.model_dump(mode="json"), **more})
            continue
        edits = ", with edits" if made.edited else ""
        console.say(f"{each}: study {made.study} at {made.commit[:12]}{edits}")
        console.say(f"done at {made.ended}" if made.ended else found.summary())
        console.print(table_of(found.rows()))


def _push(folder: SweepFolder) -> None:
    """Push what the remote lacks of results that are complete; exits 1 if that fails."""
    from flows.driver.commands import Commands
    from flows.sweeps.push import NotPushed, push

    try:
        with Commands() as commands:
            push(folder, commands, console.say)
    except NotPushed as error:
        Terminal(stderr=True).say(f"error: {error}")
        raise typer.Exit(1) from None


def _run(folder: SweepFolder, concurrency: int | None, *, pushing: bool) -> None:
    """Run what is left of a sweep owned by this process; exits 1 if cells or a push fail."""
    from pipeline.cli.driving import driven

    with driven(folder):
        from flows.sweeps.deployed import run_sweep

        run_sweep(folder.name, str(folder.home), concurrency, pushing)
