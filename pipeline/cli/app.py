"""The ``tomrl`` command."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from importlib.metadata import version
from typing import Annotated

import typer
from rich.markup import escape

from pipeline.base.disk import trouble
from pipeline.base.errors import UserError
from pipeline.base.ownership import owned
from pipeline.base.ports import keep_loopback_direct
from pipeline.base.processes import raise_on_sigterm, was_stopped
from pipeline.cli import (
    act,
    attack,
    audit,
    board,
    clean,
    compare,
    deploy,
    export,
    judge,
    models,
    plan,
    report,
    reward,
    share,
    study,
    sweep,
    tom,
    ui,
)
from pipeline.cli.output import JsonOption, drop_standard_output, print_json
from pipeline.cli.study import ModelOption, check
from pipeline.cli.tables import make_list
from pipeline.cli.terminal import Terminal
from pipeline.config.params_file import read_params
from pipeline.formats.plural import counted
from pipeline.ops.driver.checkout import find_root, set_values, use_study

EXTRAS = {
    package: extra
    for extra, packages in {
        "parquet": "pyarrow",
        "report": "matplotlib",
        "train": "torch transformers tokenizers safetensors huggingface_hub openai",
        "orchestrate": "prefect mlflow dvc ray boto3 s3fs sqlalchemy gguf",
    }.items()
    for package in packages.split()
}
"""The extra of this package that provides an import."""

app = typer.Typer(
    name="tomrl",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Reinforcement-learning post-training for Theory of Mind, reproducibly.\n\n"
    "Start with `tomrl doctor`, then `tomrl run` (or `dvc repro`), then `tomrl report`.",
    epilog="Example: `tomrl run mini`; what a command does and needs: `tomrl run --help`",
)
_RUN, _READ = "Choose and run a study", "Read what it found"
_ANSWERS, _KEEP = "Look at answers, benchmarks and rewards", "Keep the checkout"
_SHARE = "Hand results to others"
app.add_typer(study.app, name="study", rich_help_panel=_RUN)
app.add_typer(sweep.app, name="sweep", rich_help_panel=_RUN)
app.command(rich_help_panel=_RUN)(plan.plan)
app.command(rich_help_panel=_RUN)(deploy.deploy)
app.command(rich_help_panel=_READ)(report.report)
app.command(rich_help_panel=_READ)(ui.ui)
app.command(rich_help_panel=_READ)(compare.compare)
app.command(rich_help_panel=_ANSWERS)(judge.judge)
app.command(rich_help_panel=_ANSWERS)(board.board)
app.command(rich_help_panel=_ANSWERS)(audit.audit)
app.command(rich_help_panel=_ANSWERS)(act.act)
app.command(rich_help_panel=_ANSWERS)(attack.attack)
app.add_typer(reward.app, name="reward", rich_help_panel=_ANSWERS)
app.add_typer(tom.app, name="tom", rich_help_panel=_ANSWERS)
app.add_typer(export.app, name="export", rich_help_panel=_SHARE)
app.command(rich_help_panel=_SHARE)(share.publish)
app.command(rich_help_panel=_SHARE)(share.verify)
app.add_typer(models.app, name="models", rich_help_panel=_KEEP)
app.command(rich_help_panel=_KEEP)(clean.clean)
console = Terminal()
_LONGEST_MESSAGE = 4000  # characters


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tomrl {version('tomrl')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


@app.command(rich_help_panel=_RUN)
def doctor(
    gpu: Annotated[
        bool,
        typer.Option(
            "--gpu", help="Check what a GPU run needs: on the nodes of RAY_ADDRESS, else here."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check this machine: what is there, what is missing, and how to fix it.

    Exits 1 if something that is needed is missing.

    Example: `tomrl doctor --gpu`
    """
    from pipeline.ops.check import doctor as machine
    from pipeline.ops.check import gpu as route

    raise_on_sigterm()
    table = make_list()
    findings = (route if gpu else machine).diagnose(find_root())
    marks = {True: "[green]ok[/]", False: "[red]fix[/]", None: "[dim]-[/]"}
    for finding in findings:
        repair = "" if finding.ok else escape(finding.repair)
        table.add_row(marks[finding.ok], finding.subject, escape(finding.found), repair)
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        console.print(table)
    if any(finding.ok is False for finding in findings):
        raise typer.Exit(1)


@app.command(rich_help_panel=_RUN)
def run(
    study: Annotated[
        str | None,
        typer.Argument(help="A study of `tomrl study list`; by default params.yaml as it is."),
    ] = None,
    model: ModelOption = None,
    jobs: Annotated[
        int | None,
        typer.Option(help="Cells to run at a time; by default as many as have room.", min=1),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="First write this to params.yaml, for all cells, as in --set train.steps=20. May "
            "be given several times.",
        ),
    ] = None,
) -> None:
    """Run a study as a Prefect flow: the DVC stages of `dvc repro`, its cells side by side.

    Skips what is up to date, goes on when a cell fails, and resumes an interrupted run. Needs no
    server: without one, Prefect starts a temporary one. As many cells run at a time as have room:
    on the accelerators of the cluster that RAY_ADDRESS names, else on those of this machine, and
    for studies of tiny models on its cores. To run a single stage, or without Prefect, use `dvc
    repro`: it runs the same stages, one after the other.

    Example: `tomrl run mini --jobs 2`, `tomrl run mini --set train.learning_rate=0.0002` or
    `tomrl run smol --model models/my-model`
    """
    from flows.driver.graph import changed_stages
    from flows.driver.record import RunFolder, checkout_owner
    from pipeline.cli.driving import driven

    root = find_root()
    if study is not None:
        check(root, study)
    elif model is not None:
        raise UserError(
            "--model takes the place of a study's models; name the study, as in: tomrl run smol "
            f"--model {model}"
        )
    raise_on_sigterm()
    with owned(checkout_owner(root), patience=0.0):
        if study is not None:
            use_study(root, study, model)
        if settings:
            set_values(root, settings)
        params = read_params(root / "params.yaml")
        left = changed_stages(root)
    if left or os.environ.get("PREFECT_API_URL"):  # whose pages show the table in either case
        with driven(RunFolder.here(root, params.study.name)):
            from flows.study import run_study

            run_study(checkout=str(root), jobs=jobs)
    else:
        console.say(f"study {params.study.name} is up to date: nothing to run")
    report.report()


@app.command(rich_help_panel=_READ)
def sync() -> None:
    """Send the results of every finished stage to MLflow again, with models and report.

    Use it if MLflow could not be reached during a run. Nothing is stored twice.

    Example: `MLFLOW_TRACKING_URI=http://127.0.0.1:5000 tomrl sync`
    """
    from pipeline.ops.mirror.send import complete

    root = find_root()
    params = read_params(root / "params.yaml")
    sent = complete(params, root, again=True)
    console.print(f"sent {counted(len(sent), 'cell')}: {', '.join(sent) or 'none has results yet'}")


def _shortened(message: str) -> str:
    half = _LONGEST_MESSAGE // 2
    return message if len(message) <= 2 * half else f"{message[:half]} ... {message[-half:]}"


def main() -> None:
    """Run the command; bad input ends with one message and status 2, a full disk with 1."""
    keep_loopback_direct(os.environ)
    try:
        app()
    except UserError as error:
        Terminal(stderr=True).say(f"error: {_shortened(str(error))}")
        sys.exit(2)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        Terminal(stderr=True).say(
            f"error: this command needs {package}, which is not installed; install it with: pip "
            f"install 'tomrl[{EXTRAS[package]}]'"
        )
        sys.exit(2)
    except (KeyboardInterrupt, Exception) as error:
        if was_stopped(error):
            print("stopped", file=sys.stderr)
            sys.exit(130)
        if (why := trouble(error)) is None:
            raise
        if isinstance(error, OSError) and error.filename is None:
            drop_standard_output()
            why = f"standard output: cannot be written ({error.strerror})"
        Terminal(stderr=True).say(f"error: {why}")
        sys.exit(1)


if __name__ == "__main__":
    main()
