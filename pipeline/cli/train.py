"""``tomrl train``: what training would need, before it starts."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipeline.analysis.against_paper import (
    Compared,
    against_paper,
    in_words,
    no_record,
    unlike_papers,
)
from pipeline.base.errors import UserError
from pipeline.cli.completion import StudyOption, cell_names
from pipeline.cli.output import JsonOption, print_json
from pipeline.cli.tables import make_table
from pipeline.cli.terminal import Terminal
from pipeline.config.lookup import lookup
from pipeline.config.params import Params, TrainedCell
from pipeline.config.training import Accelerator
from pipeline.formats.plural import counted
from pipeline.ops.driver.checkout import find_root, params_of

if TYPE_CHECKING:
    from pipeline.ops.verl.compose import Composed
    from pipeline.ops.verl.plan import Plan
    from pipeline.train.shape import Shape

_GIB = 2**30
_MEANING = {
    "parameters": "weights of the policy",
    "gradients": "one per weight",
    "optimiser": "AdamW's two moments",
    "reference": "the reference model, frozen",
    "critic": "PPO's: weights, gradients, moments",
    "casts": "the policy's matrices in half precision",
    "cache": "keys and values of all completions",
    "activations": "one micro-batch, estimated",
    "logits": "one micro-batch, in float32",
    "libraries": "torch and transformers",
    "peak": "all of it, with a margin",
}

app = typer.Typer(
    no_args_is_help=True,
    help="Before training: does a cell fit in memory, and what would be launched?",
    epilog="Example: `tomrl train plan --cell nano-hi`",
)
CellOption = Annotated[
    str,
    typer.Option(help="A cell, as `tomrl study show NAME` lists it.", autocompletion=cell_names),
]


@app.command(
    epilog="Example: tomrl train plan --cell nano-hi; for another study: "
    "tomrl train plan --study rlvr --cell qwen25-7b-hi --accelerator h200"
)
def plan(
    cell: CellOption,
    study: StudyOption = None,
    accelerator: Annotated[
        Literal["cpu", Accelerator] | None,
        typer.Option(help="Plan for this accelerator, not for this machine."),
    ] = None,
    memory: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1e6,
            help="GiB of memory to plan for; by default the accelerator's, or what is free here.",
        ),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="The config.json of a model that tomrl does not know.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show how much memory the local trainer needs for a cell; exits 2 if it does not fit."""
    from pipeline.engine.device import available_memory, choose_device
    from pipeline.train.accelerators import MEMORY, capacity
    from pipeline.train.footprint import plan as memory_plan
    from pipeline.train.shapes import shape_of

    root = find_root()
    params = params_of(root, study)
    chosen = params.trained_cell(cell)
    model = lookup(params.base, chosen.model, "model").model
    shape = _read_shape(config) if config else shape_of(model, root)
    device = choose_device("cpu" if accelerator else chosen.train.device)
    place = accelerator or device.type
    found = memory_plan(shape, chosen.train, chosen.algorithm, on_gpu=place != "cpu")
    available = capacity(place) if place in MEMORY else available_memory(device)
    if memory is not None:
        available = round(memory * _GIB)
    if as_json:
        print_json(
            {
                "cell": cell,
                "parameters": shape.parameters,
                "device": place,
                "bytes": dict(found.rows()),
                "available": available,
                "fits": found.peak <= available,
            }
        )
        raise typer.Exit(0 if found.peak <= available else 2)
    _print(found.rows(), f"{cell}: {shape.parameters:,} parameters on {place}")
    if found.peak > available:
        raise UserError(
            f"cell {cell} needs about {found.peak / _GIB:.1f} GiB, {available / _GIB:.1f} GiB are "
            "free. Lower train.groups_per_micro_batch, tokens_per_micro_batch, rollouts or "
            "max_new_tokens, set train.gradient_checkpointing, or choose a smaller model"
        )
    Terminal().print(f"fits: {available / _GIB:.1f} GiB are free", highlight=False)
    if chosen.train.backend != "local":
        Terminal().print(
            "These figures are for train.backend: local. The study trains this cell with "
            f"{chosen.train.backend}: see tomrl train show",
            highlight=False,
        )


@app.command(
    epilog="Example: tomrl train show --study tom-rl --cell qwen25-7b-hi-exp; on other hardware: "
    "tomrl train show --study rlvr --cell qwen25-7b-hi --accelerator h200"
)
def show(
    cell: CellOption,
    study: StudyOption = None,
    backend: Annotated[
        Literal["local", "verl"] | None, typer.Option(help="By default the study's.")
    ] = None,
    accelerator: Annotated[Accelerator | None, typer.Option(help="By default the study's.")] = None,
    gpus: Annotated[int | None, typer.Option(min=1, help="Accelerators per node.")] = None,
    nodes: Annotated[int | None, typer.Option(min=1, help="Nodes.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what training a cell would launch: where, with which settings, and how it differs from
    the paper.

    Launches nothing. Exits 2 if the cell does not fit, or if verl refuses the settings.
    """
    from pipeline.ops.verl.attention import flash_of_jobs
    from pipeline.ops.verl.compose import compose
    from pipeline.ops.verl.plan import count_rows, plan_of

    root = find_root()
    params = params_of(root, study)
    chosen = params.trained_cell(cell)
    rows = count_rows(params, chosen, root)
    if (backend or chosen.train.backend) == "local":
        if as_json:
            print_json({"cell": cell, "backend": "local", "steps": chosen.train.total_steps(rows)})
        else:
            _show_local(cell, chosen, rows, study)
        return
    asked = {"accelerator": accelerator, "gpus": gpus, "nodes": nodes}
    changes = {name: value for name, value in asked.items() if value is not None}
    found = plan_of(params, cell, rows, changes, flash=flash_of_jobs(os.environ))
    composed = compose(found.overrides, found.trainer.config)
    if as_json:
        print_json(
            {
                "cell": cell,
                "backend": "verl",
                "placement": asdict(found.placement),
                "settings": found.overrides,
                "command": _command(found),
            }
        )
        return
    _show_verl(cell, found, composed, params, root)


def _read_shape(path: Path) -> Shape:
    from pipeline.formats.files import read_json
    from pipeline.train.shape import Shape

    try:
        return Shape.of(read_json(path))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(f"{path} is not the config.json of a Qwen2 model ({error!r})") from None


def _print(rows: list[tuple[str, int]], title: str) -> None:
    table = make_table(title, ("what", "which is"), ("GiB", "bytes"))
    for name, size in rows:
        table.add_row(name, _MEANING[name], f"{size / _GIB:.3f}", f"{size:,}")
    Terminal().print(table)


_HELD = {
    "parameters": "weights of the policy, sharded",
    "gradients": "one per weight, float32, sharded",
    "optimiser": "AdamW's two moments, float32, sharded",
    "critic": "PPO's critic: weights and moments",
    "gathered layers": "the layers being computed, unsharded",
    "activations": "one micro-batch, estimated",
    "logits": "of 512 tokens at a time, with gradients",
    "rollout weights": "the copy that generates",
    "cache": "keys and values of running completions",
    "sampler": "vLLM's activations and CUDA graphs",
    "sleeping sampler": "vLLM's CUDA graphs, which stay",
    "new weights": "buffer for sending them to vLLM",
    "libraries": "CUDA and NCCL",
    "reference": "the reference model, float32",
    "copies": "of the policy, to measure accuracy with",
    "before adapters": "the base weights, while adapters are merged",
    "more while loading": "further copies while the model loads",
    "offloaded": "weights, gradients and moments between steps",
}


def _show_local(key: str, cell: TrainedCell, rows: int, study: str | None) -> None:
    of_study = "" if study is None else f"--study {study} "
    _say(
        f"{key}: train.backend is local, so `dvc repro` trains it in its own process:\n"
        f"  python -m pipeline.stages.train {key}\n"
        f"{counted(cell.train.total_steps(rows), 'step')} of "
        f"{counted(cell.train.prompts_per_step, 'prompt')} x "
        f"{counted(cell.train.rollouts, 'completion')}, {counted(rows, 'training prompt')}\n"
        f"memory: tomrl train plan {of_study}--cell {key}; with verl instead: --backend verl"
    )
    _say_lora(cell)


def _show_verl(key: str, plan: Plan, composed: Composed, params: Params, root: Path) -> None:
    """Print a plan: place, memory, differences, settings, command."""
    from pipeline.ops.verl.overrides import planned

    place = plan.placement
    steps, _ = planned(plan.cell.train, plan.rows)
    _say(
        f"{key} on {place.describe()}: {counted(steps, 'step')}, "
        f"{counted(plan.rows, 'training prompt')}, "
        f"micro-batches of {place.micro_batch} x {place.longest} tokens, "
        f"tensor parallel {place.tensor_parallel}, offload {'on' if place.offload else 'off'}\n"
        f"{plan.attention}\n"
    )
    _say_memory(plan)
    _say_differences(plan, params, root)
    _say_settings(plan, composed)
    _say("\n" + _command(plan))


def _say_memory(plan: Plan) -> None:
    place = plan.placement
    table = make_table("memory in GiB", ("what", "which is"), (*place.phases, "host"))
    phases = (*place.phases.values(), place.host)
    for name in dict.fromkeys(name for phase in phases for name in phase):
        held = [f"{phase[name] / _GIB:.2f}" if phase.get(name) else "" for phase in phases]
        if any(held):
            table.add_row(name, _HELD[name], *held)
    peaks = [f"{peak / _GIB:.2f}" for peak in place.peaks.values()]
    host = f"{sum(place.host.values()) / _GIB:.2f}"
    table.add_row("total", "per accelerator with 8 % margin; host: per node", *peaks, host)
    Terminal().print(table)
    _say(f"each {place.accelerator} has {place.capacity / _GIB:.1f} GiB\n")


def _say_differences(plan: Plan, params: Params, root: Path) -> None:
    """Print how the study differs from its paper, and the plan from the local trainer."""
    found = against_paper(params, root)
    _say(_sentence(found.summary() if found else no_record(params, root)))
    if found is None:
        for paper, rows in unlike_papers(params, root).items():
            _say_table(f"training unlike {paper}", rows)
    else:
        _say_table(f"unlike {found.paper}", found.of("differs"))
        left = (f"{each.what} {in_words(each.here)}" for each in found.of("open"))
        _say(f"not stated there, chosen here: {', '.join(left)}\n")
    _say_lora(plan.cell)
    _say("unlike the local trainer:\n" + "".join(f"- {note}\n" for note in plan.notes))


def _say_lora(cell: TrainedCell) -> None:
    if lora := cell.train.lora:
        _say(
            f"lora: trains adapters of rank {lora.rank} on all linear layers, scaled by "
            f"{lora.alpha / lora.rank:g}, and nothing else; they are added to the weights that are "
            "stored\n"
        )


def _say_table(title: str, rows: Sequence[Compared]) -> None:
    table = make_table(title, ("what", "stated", "here", "source"))
    for each in rows:
        table.add_row(each.what, in_words(each.stated), in_words(each.here), each.source)
    Terminal().print(table) if rows else _say(f"{title}: nothing")


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _say_settings(plan: Plan, composed: Composed) -> None:
    """Print setting by setting: their names alone would fill the columns of a table."""
    _say("settings that differ from verl's defaults (in brackets):")
    for name, value in composed.changed(plan.overrides).items():
        own = composed.defaults.get(name.lstrip("+"))
        _say(f"  {name} = {_text(value)}" + ("" if own is None else f"  ({_text(own)})"))


def _command(plan: Plan) -> str:
    from pipeline.ops.verl.overrides import as_arguments

    lines = [shlex.quote(argument) for argument in as_arguments(plan.overrides)]
    return " \\\n  ".join([f"python -m {plan.trainer.module}", *lines])


def _text(value: object) -> str:
    return "none" if value is None else str(value)


def _say(text: str) -> None:
    Terminal().say(text)
