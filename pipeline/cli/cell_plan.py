"""``tomrl plan --cell``: resources and command of a cell's training."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pipeline.analysis.against_paper import (
    Compared,
    against_paper,
    in_words,
    no_record,
)
from pipeline.base.errors import UserError
from pipeline.cli.output import print_json
from pipeline.cli.tables import make_table
from pipeline.cli.terminal import Terminal
from pipeline.config.lookup import lookup
from pipeline.config.params import Params, TrainedCell
from pipeline.formats.plural import counted

if TYPE_CHECKING:
    from pipeline.ops.verl.compose import Composed
    from pipeline.ops.verl.plan import Plan

_GIB = 2**30


def show_cell(
    key: str,
    params: Params,
    root: Path,
    *,
    backend: str | None,
    place: Mapping[str, Any],
    as_json: bool,
) -> None:
    """Show resources and command of a cell's training.

    Args:
        key: The cell.
        params: The expanded study.
        root: The checkout.
        backend: The trainer; the study's if None.
        place: Overrides: ``accelerator``, ``memory`` in GiB, ``gpus``, ``nodes``.
        as_json: Print JSON.

    Raises:
        UserError: If it trains nothing or does not fit, or verl refuses its settings.
    """
    cell = params.trained_cell(key)
    if (backend or cell.train.backend) == "local":
        if extra := [f"--{name}" for name in ("gpus", "nodes") if name in place]:
            raise UserError(f"{extra[0]} goes with --backend verl; the local trainer takes one")
        _show_local(key, cell, params, root, place, as_json=as_json)
        return
    from pipeline.ops.cluster.head import find_engine_python
    from pipeline.ops.verl.attention import flash_of_jobs
    from pipeline.ops.verl.compose import ask
    from pipeline.ops.verl.plan import count_rows, plan_of

    if place.get("accelerator") == "cpu":
        raise UserError("--accelerator cpu is for the local trainer: --backend local")
    found = plan_of(
        params, key, count_rows(params, cell, root), place, flash=flash_of_jobs(os.environ)
    )
    composed = ask(found.overrides, found.trainer.config, find_engine_python(os.environ))
    if as_json:
        print_json(
            {
                "cell": key,
                "backend": "verl",
                "placement": asdict(found.placement),
                "settings": found.overrides,
                "command": _command(found),
            }
        )
        return
    _show_verl(key, found, composed, params, root)


def _show_local(
    key: str,
    cell: TrainedCell,
    params: Params,
    root: Path,
    place: Mapping[str, Any],
    *,
    as_json: bool,
) -> None:
    from pipeline.engine.device import available_memory, choose_device
    from pipeline.train.accelerators import MEMORY, capacity
    from pipeline.train.footprint import plan
    from pipeline.train.shapes import shape_of

    model = lookup(params.base, cell.model, "model").model
    shape = shape_of(model, root)
    accelerator = place.get("accelerator")
    device = choose_device("cpu" if accelerator else cell.train.device)
    name = accelerator or device.type
    found = plan(shape, cell.train, cell.algorithm, on_gpu=name != "cpu")
    available = capacity(name) if name in MEMORY else available_memory(device)
    if "memory" in place:
        available = round(place["memory"] * _GIB)
    steps = _steps(params, cell, root)
    if as_json:
        print_json(
            {
                "cell": key,
                "backend": "local",
                "steps": steps,
                "parameters": shape.parameters,
                "device": name,
                "bytes": dict(found.rows()),
                "available": available,
                "fits": found.peak <= available,
            }
        )
        raise typer.Exit(0 if found.peak <= available else 2)
    _say(
        f"{key}: {counted(steps, 'step') if steps else 'steps'} of "
        f"{counted(cell.train.prompts_per_step, 'prompt')} x "
        f"{counted(cell.train.rollouts, 'completion')}, in one process:\n"
        f"  python -m pipeline.stages.train {key}"
    )
    if cell.train.backend != "local":
        _say(f"The study trains it with {cell.train.backend}; without --backend that is shown")
    _say_lora(cell)
    table = make_table(f"{shape.parameters:,} parameters on {name}", ("what",), ("GiB", "bytes"))
    for what, size in found.rows():
        table.add_row(what, f"{size / _GIB:.3f}", f"{size:,}")
    Terminal().print(table)
    if found.peak > available:
        raise UserError(
            f"cell {key} needs about {found.peak / _GIB:.1f} GiB, {available / _GIB:.1f} GiB are "
            "free. Lower train.groups_per_micro_batch, tokens_per_micro_batch, rollouts or "
            "max_new_tokens, set train.gradient_checkpointing, or choose a smaller model"
        )
    _say(f"fits: {available / _GIB:.1f} GiB are free")


def _steps(params: Params, cell: TrainedCell, root: Path) -> int | None:
    """The steps of a run; None before the data are made."""
    from pipeline.ops.verl.plan import count_rows

    try:
        return cell.train.total_steps(count_rows(params, cell, root))
    except UserError:
        return None


def _show_verl(key: str, plan: Plan, composed: Composed | None, params: Params, root: Path) -> None:
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
    table = make_table(
        "memory in GiB per accelerator; host: per node", ("what",), (*place.phases, "host")
    )
    phases = (*place.phases.values(), place.host)
    for name in dict.fromkeys(name for phase in phases for name in phase):
        held = [f"{phase[name] / _GIB:.2f}" if phase.get(name) else "" for phase in phases]
        if any(held):
            table.add_row(name, *held)
    peaks = [f"{peak / _GIB:.2f}" for peak in place.peaks.values()]
    host = f"{sum(place.host.values()) / _GIB:.2f}"
    table.add_row("total", *peaks, host)
    Terminal().print(table)
    capacity = f"each {place.accelerator} has {place.capacity / _GIB:.1f} GiB"
    _say(f"{capacity}; its totals have a margin of 8 %\n")


def _say_differences(plan: Plan, params: Params, root: Path) -> None:
    """Print differences of the study from its paper."""
    found = against_paper(params, root)
    _say(_sentence(found.summary() if found else no_record(params, root)))
    if found is not None:
        _say_table(f"unlike {found.paper}", found.of("differs"))
        left = (f"{each.what} {in_words(each.here)}" for each in found.of("open"))
        _say(f"not stated there, chosen here: {', '.join(left)}\n")
    _say_lora(plan.cell)


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


def _say_settings(plan: Plan, composed: Composed | None) -> None:
    """Print settings one per line: their names alone would fill a table's columns."""
    if composed is None:
        _say("verl was not asked for its view of these settings: `make setup-engines` installs it")
        return
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
