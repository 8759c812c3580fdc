"""``tomrl export``: a study's answers, models and data in the formats of other tools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.analysis.export.folder import exporting
from pipeline.base.errors import UserError
from pipeline.base.progress import ProgressReport
from pipeline.cli.cells import side_of
from pipeline.cli.terminal import Terminal
from pipeline.config.params import Params
from pipeline.config.params_file import read_params
from pipeline.formats.plural import counted
from pipeline.ops.driver.checkout import find_root, params_of, params_of_results

if TYPE_CHECKING:
    from pipeline.analysis.export.answered import Column

app = typer.Typer(
    no_args_is_help=True,
    help="Write a study's answers, models and data in the formats of other tools.\n\n"
    "Those tools need not be installed to write them.",
    epilog="Example: `tomrl export inspect nano-cued --to inspect-logs`",
)
CellsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CELL",
        help="Cells of the study in use, STUDY/CELL, or checkpoints, CELL@last; all cells that are "
        "evaluated if left out.",
    ),
]
ToOption = Annotated[Path, typer.Option(metavar="FOLDER", help="A new folder to write.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an earlier export in it.")]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A cell or a checkpoint of it.

    Attributes:
        params: The study.
        key: The cell.
        checkpoint: ``best``, ``last`` or a step; empty for the one that the study evaluates.
    """

    params: Params
    key: str
    checkpoint: str

    @property
    def name(self) -> str:
        return f"{self.key}@{self.checkpoint}" if self.checkpoint else self.key

    @property
    def text(self) -> str:
        return f"{self.params.study.name}/{self.name}"


@app.command(
    "inspect",
    epilog="Example: tomrl export inspect nano-base nano-cued --to inspect-logs && inspect view "
    "start --log-dir inspect-logs",
)
def export_inspect(
    cells: CellsArgument = None, *, to: ToOption, force: ForceOption = False
) -> None:
    """Write logs that `inspect view` opens: one for each cell and column.

    A log has every question with its messages, choices, gold answer and response, the scores by
    the published rule, the strict one and the form, belief order, story and prompt digest. To look
    at them: `pip install inspect-ai`, in any environment.
    """
    from pipeline.analysis.export.inspect_log import file_name, inspect_log
    from pipeline.formats.files import write_json

    root = find_root()
    chosen = list(_chosen(root, cells or []))
    note = "logs of Inspect; open with: inspect view\n" + ", ".join(each.text for each in chosen)
    count = 0
    with (
        exporting(to, note, force=force) as folder,
        ProgressReport("export", len(chosen)) as progress,
    ):
        for done, each in enumerate(chosen, 1):
            for column in _columns(root, each):
                place = folder / column.study / column.cell / file_name(column)
                write_json(place, inspect_log(column))
                count += 1
            progress.at(done, each.name)
        if not count:
            raise UserError("no cell that was named has answers; nothing is written")
    Terminal().say(
        f"{counted(count, 'log')} in {to}; look at them with: inspect view start --log-dir {to}"
    )


@app.command("model", epilog="Example: tomrl export model nano-cued --to nano-cued")
def export_model(
    cell: Annotated[
        str,
        typer.Argument(help="CELL, STUDY/CELL or a checkpoint, CELL@last."),
    ],
    *,
    to: ToOption,
    force: ForceOption = False,
    push: Annotated[
        str | None,
        typer.Option(metavar="OWNER/NAME", help="Send it to a new repository of a model hub, too."),
    ] = None,
) -> None:
    """Write a cell's model as transformers, vLLM and others load it, with a card.

    The card says what the model was shown, what its answers follow, and what rules reach that learn
    nothing. The hub is that of HF_ENDPOINT, the token that of HF_TOKEN.
    """
    from pipeline.analysis.collect import collect
    from pipeline.ops.share.model import check_name, push_folder, write_model

    if push is not None:
        check_name(push)
    root = find_root()
    (chosen,) = _chosen(root, [cell])
    with exporting(to, f"the model of {chosen.text}", force=force) as folder:
        write_model(collect(chosen.params, root, {}), root, chosen.key, folder, chosen.checkpoint)
    Terminal().say(f'model in {to}; load it with: AutoModelForCausalLM.from_pretrained("{to}")')
    if push is not None:
        Terminal().say(f"sent to {push_folder(to, push)}")


@app.command("data", epilog="Example: tomrl export data mini --to mini-data")
def export_data(
    study: Annotated[
        str | None, typer.Argument(help="A study whose data are here; the one in use if left out.")
    ] = None,
    *,
    to: ToOption,
    force: ForceOption = False,
) -> None:
    """Write a study's training sets and suite as `datasets.load_dataset` reads them.

    With a card. Sets that may not be passed on are refused.
    """
    from pipeline.ops.share.data import write_data

    root = find_root()
    params = params_of_results(root, study)
    with exporting(to, f"the data of {params.study.name}", force=force) as folder:
        count = write_data(params, root, folder)
    files = f"{counted(count, 'file')} in {to}, by the names in its README.md"
    Terminal().say(f'{files}; load them with: load_dataset("{to}", NAME)')


@app.command(
    "environment",
    epilog="Example: tomrl export environment hi_tom_style --combination balanced --to environment",
)
def export_environment(
    tasks: Annotated[list[str], typer.Argument(help="Tasks or benchmarks of the study in use.")],
    *,
    to: ToOption,
    force: ForceOption = False,
    combination: Annotated[
        str | None,
        typer.Option(help="The training set to take; needed where several have such questions."),
    ] = None,
    libraries: Annotated[
        list[str] | None,
        typer.Option("--for", help="verifiers, trl, inspect or lm-eval; all if left out."),
    ] = None,
) -> None:
    """Write a study's questions and their grader as a package that trainers and harnesses load.

    It needs nothing of this project. A response earns 1 if it is strictly right, else nothing.
    """
    from pipeline.ops.share.packaged import write_environment

    with exporting(to, f"an environment of {', '.join(tasks)}", force=force) as folder:
        name = write_environment(find_root(), tasks, combination, libraries or [], folder)
    Terminal().say(f"package {name} in {to}; install it with: pip install {to}")


def _chosen(root: Path, names: Sequence[str]) -> Iterator[Chosen]:
    """Yield the named cells with their study, by default all evaluated ones of the study in use."""
    params = read_params(root / "params.yaml")
    if not names:
        found = [key for key in params.cells if _is_evaluated(root, params, key)]
        if not found:
            raise UserError(f"no cell of {params.study.name} is evaluated yet; run: tomrl run")
        yield from (Chosen(params, key, "") for key in found)
    for name in dict.fromkeys(names):
        cell, _, checkpoint = name.partition("@")
        study, slash, key = cell.rpartition("/")
        own = not slash or study == params.study.name
        its = params if own else params_of(root, study)
        its.cell(key)
        if not _is_evaluated(root, its, key):
            use = "" if own else f"tomrl study use {study} && "
            raise UserError(
                f"cell {its.study.name}/{key} is not evaluated yet; run: {use}dvc repro "
                f"evaluate@{key}"
            )
        yield Chosen(its, key, checkpoint)


def _is_evaluated(root: Path, params: Params, key: str) -> bool:
    return (root / "runs" / params.study.name / key / "evaluate" / "metrics.json").is_file()


def _columns(root: Path, chosen: Chosen) -> list[Column]:
    from pipeline.analysis.export.answered import ResultsFolder, read_columns
    from pipeline.stages.common import Stage
    from pipeline.stages.evaluate import asked

    key, stage = chosen.key, Stage("evaluate", root, chosen.params)
    own = stage.runs / key / stage.name
    answers = side_of(root, chosen.text).answers if chosen.checkpoint else own
    logs = stage.logs / key / stage.name if answers == own else answers
    results = ResultsFolder(answers, logs / "timing.jsonl", f"evaluate@{key}")
    cell = chosen.params.cell(key)
    columns = list(read_columns(results, stage.study, chosen.name, cell, asked(stage, cell)))
    if not columns:
        Terminal(stderr=True).say(f"{chosen.name}: without answers, as the model was not run")
    return columns
