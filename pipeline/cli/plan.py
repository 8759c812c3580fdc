"""``tomrl plan``: resources of a study, or of a cell's training."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pipeline.base.errors import UserError
from pipeline.cli.cell_plan import show_cell
from pipeline.cli.output import print_json
from pipeline.cli.tables import make_table
from pipeline.cli.terminal import Terminal
from pipeline.config.params import Params
from pipeline.config.training import Accelerator
from pipeline.formats.plural import counted
from pipeline.ops.driver.checkout import find_root, params_of

if TYPE_CHECKING:
    from pipeline.ops.planning.cluster import ClusterFile
    from pipeline.ops.planning.study import StudyPlan

_SHOWN_CELLS = 100


def plan(
    study: Annotated[
        str | None,
        typer.Option(help="A study of `tomrl study list`; by default params.yaml as it is."),
    ] = None,
    cell: Annotated[
        str | None,
        typer.Option(
            help="Instead of the study, show one cell's training: memory, settings, command, and "
            "how it differs from the paper. A cell as `tomrl study show NAME` lists it.",
        ),
    ] = None,
    cluster: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="YAML file with the cluster's pools of nodes. By default two cores for studies "
            "that run on a laptop, and one node of 4 x A100 80 GB for all others.",
        ),
    ] = None,
    effect: Annotated[
        float | None,
        typer.Option(
            metavar="POINTS",
            help="Instead, show how many questions, stories and seeds it takes to detect a change "
            "of so many points.",
        ),
    ] = None,
    backend: Annotated[
        Literal["local", "verl"] | None,
        typer.Option(help="With --cell: the trainer; by default the study's."),
    ] = None,
    accelerator: Annotated[
        Literal["cpu", Accelerator] | None,
        typer.Option(help="With --cell: on this, not on the study's or on this machine."),
    ] = None,
    memory: Annotated[
        float | None,
        typer.Option(min=0, max=1e6, help="With --cell: GiB of memory of each, or free here."),
    ] = None,
    gpus: Annotated[
        int | None, typer.Option(min=1, help="With --cell and verl: accelerators per node.")
    ] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="With --cell and verl: nodes.")] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print JSON: cells, gpu_hours, makespan_hours, longest_cell_hours, cost, disk_gb; "
            "of a cell its memory, settings and command.",
        ),
    ] = False,
) -> None:
    """Estimate what a study takes: accelerators, memory, hours, dollars, disk, and when it is done.

    Launches nothing. Hours are counted from floating-point operations and one published run; the
    real ones may be half or twice as many. Hours of cells that this checkout has run are measured.
    With `--cell`, exits 2 if the cell does not fit, or if verl refuses its settings.
    docs/cluster.md has the assumptions and an example of a cluster file.

    Example: `tomrl plan --study grid --cluster docs/clusters/four-nodes.yaml` or
    `tomrl plan --study tom-rl --cell qwen25-7b-hi-exp`
    """
    from pipeline.ops.planning.cluster import read_cluster
    from pipeline.ops.planning.study import plan_study

    root = find_root()
    params = params_of(root, study)
    asked: dict[str, Any] = {
        "accelerator": accelerator,
        "memory": memory,
        "gpus": gpus,
        "nodes": nodes,
    }
    asked = {name: value for name, value in asked.items() if value is not None}
    if cell is not None:
        if cluster is not None or effect is not None:
            raise UserError("--cell shows one cell; leave out --cluster and --effect")
        show_cell(cell, params, root, backend=backend, place=asked, as_json=as_json)
        return
    if alone := [*asked, *(["backend"] if backend else [])]:
        raise UserError(f"--{alone[0]} is for one cell; name it with --cell")
    if effect is not None:
        _show_effect(effect, params, as_json)
        return
    where = _assumed(params) if cluster is None else read_cluster(cluster)
    found = plan_study(params, where, root)
    if as_json:
        print_json(found.as_json())
        return
    _show(found, params.study.name)


def _show_effect(points: float, params: Params, as_json: bool) -> None:
    from pipeline.ops.planning.effect import ASSUMPTIONS, found_by, needed

    wanted = needed(points)
    columns = {
        name: found_by(column.limit)
        for name, column in params.suite.tasks.items()
        if column.limit is not None
    }
    if as_json:
        print_json({**asdict(wanted), "columns": columns})
        return
    console = Terminal()
    table = make_table(
        f"{params.study.name}: smallest change detected with probability 0.8, one seed",
        ("column",),
        ("questions", "points"),
    )
    for name, found in columns.items():
        table.add_row(name, str(params.suite.tasks[name].limit), f"{found:.1f}")
    console.print(table)
    console.say(
        f"Detecting a change of {points:g} points in one trained model takes "
        f"{counted(wanted.questions, 'question')} about {wanted.stories} stories; attributing it "
        f"to the training takes {counted(wanted.seeds, 'seed')}. Assumed: {ASSUMPTIONS}."
    )


def _assumed(params: Params) -> ClusterFile:
    from pipeline.ops.planning.cells import runs_on_cores
    from pipeline.ops.planning.cluster import ASSUMED, LAPTOP

    return LAPTOP if runs_on_cores(params) else ASSUMED


def _show(found: StudyPlan, study: str) -> None:
    from pipeline.ops.planning.cluster import TERAFLOPS
    from pipeline.train.accelerators import GIB

    console = Terminal()
    several = len(found.cluster.pools) > 1
    chained = any(cell.plan.of is not None for cell in found.cells)
    names = ["cell", *(["after"] if chained else []), *(["pool"] if several else [])]
    table = make_table(
        f"{study} on {found.cluster.describe()}",
        tuple(names),
        ("takes", "GiB each", "train", "evaluate", "$", "disk GB"),
    )
    for cell in found.cells[:_SHOWN_CELLS]:
        asked = sum(value for name, value in cell.hours.items() if name != "train")
        trained = cell.hours.get("train")
        table.add_row(
            f"{cell.key}*" if cell.measured else cell.key,
            *([cell.plan.of or "-"] if chained else []),
            *([cell.pool] if several else []),
            str(cell.main.gpus),
            f"{cell.main.memory / GIB:.1f}",
            "-" if trained is None else _time(trained),
            _time(asked),
            f"{found.cost_of(cell):.0f}",
            f"{cell.plan.kept / 1e9:.1f}",
        )
    console.print(table)
    if len(found.cells) > _SHOWN_CELLS:
        console.say(f"and {len(found.cells) - _SHOWN_CELLS} more; --json lists them all")
    if any(cell.measured for cell in found.cells):
        console.say(
            "*: at least one stage was measured on this checkout; estimates are scaled to it"
        )
    on_cores = [found.cluster.pools[cell.pool].accelerator == "cpu" for cell in found.cells]
    if not all(on_cores):
        console.say(
            "Hours on accelerators are scaled from the 12 that one paper states for 7B on "
            "4 x a100-80"
        )
    if any(on_cores):
        console.say(
            "On cores, hours of tiny models are scaled from the steps of study mini, measured on "
            f"a core of an AMD EPYC. Others assume {TERAFLOPS['cpu'] * 1000:.0f} GFLOP/s per core "
            "in float32, and twice that in bfloat16"
        )
    if found.unplanned:
        console.say(f"not planned, behind an address: {', '.join(found.unplanned)}")
    console.say(_sentence(found))


def _sentence(found: StudyPlan) -> str:
    from pipeline.ops.planning.hours import RANGE

    low, high = (_time(factor * found.makespan) for factor in RANGE)
    on_cores = all(pool.accelerator == "cpu" for pool in found.cluster.pools.values())
    device = "core" if on_cores else "accelerator"
    return (
        f"`tomrl run` would be done with {counted(len(found.cells), 'cell')} after "
        f"{_time(found.makespan)} (estimate; {low} to {high}), and pay {found.cost_held:,.0f} "
        f"dollars for the whole cluster until then: {found.cost:,.0f} for {_time(found.gpu_hours)} "
        f"of {device} time that cells take ({100 * found.in_use:.0f} % of what is paid for while "
        f"they run), the rest for {device}s that wait. On disk are at most {found.disk_gb:,.1f} GB"
        f"; checkpoints write {found.written_gb:,.0f} GB{_write_cost(found)}."
    )


def _write_cost(found: StudyPlan) -> str:
    price = found.cluster.write_price
    return f", {price * found.written_gb:,.0f} dollars at {price:g} a GB" if price else ""


def _time(hours: float) -> str:
    """Hours in words: ``120 h``, ``3.4 h``, ``12 min``, ``< 1 min``."""
    if hours >= 1:
        return f"{hours:,.0f} h" if hours >= 100 else f"{hours:.1f} h"
    minutes = round(60 * hours)
    return f"{minutes} min" if minutes else "< 1 min"
