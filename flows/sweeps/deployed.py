"""Sweeps as flows, from the command line or a worker of Prefect."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from prefect import flow, get_run_logger
from prefect.runtime import deployment
from prefect.states import Failed, State
from pydantic import Field

from flows.commits import check_commit
from pipeline.formats.download import MIRROR_VARIABLE
from pipeline.ops.driver.checkout import find_root
from pipeline.ops.mirror.server import URI_VARIABLE

if TYPE_CHECKING:
    from flows.driver.commands import Commands
    from flows.sweeps.record import SweepFolder

_DATABASE = "sqlite:///"


@flow(name="scheduled sweep", flow_run_name="sweep-of-{study}")
def sweep_study(study: str, concurrency: Annotated[int | None, Field(ge=1)] = None) -> bool | State:
    """Run what is left of the sweep of a study; the run fails if cells do.

    Args:
        study: A file in `studies/`; the sweep has its name.
        concurrency: Cores, or accelerators where models are not tiny ones, that cells may take at a
            time; all there are if absent.
    """
    # Here, since all who only want to know the flow's parameters import this module.
    from flows.driver.record import RunFolder
    from flows.driver.results import publish
    from flows.driver.stopping import until_stopped
    from flows.sweeps.push import push
    from flows.sweeps.record import sweep_folder
    from flows.sweeps.start import ready
    from pipeline.base.ownership import owned

    check_commit(find_root(), deployment.version, get_run_logger())
    folder = sweep_folder(find_root(), study)
    with owned(folder.path, patience=0.0):
        if ready(folder, study):
            return _run(folder, concurrency)
        get_run_logger().info("study %s is up to date: nothing to run", study)
        if folder.exists():
            until_stopped(partial(push, folder, say=get_run_logger().info))
        publish(replace(RunFolder.here(folder.home, study), artifact=folder.artifact))
        return True


@flow(name="sweep", flow_run_name="sweep-{name}")
def run_sweep(
    name: str,
    checkout: str,
    concurrency: int | None = None,
    pushing: bool = True,
) -> bool | State:
    """Run what is left of a sweep that this process owns, and return whether all of it is done.

    Args:
        name: The sweep.
        checkout: Folder of the checkout.
        concurrency: How much of their resource its cells may take at a time; all there is if
            absent.
        pushing: Whether to bring results to the remote of the checkout, once all are there.
    """
    from flows.sweeps.record import SweepFolder

    return _run(SweepFolder(Path(checkout), name), concurrency, pushing)


def _run(folder: SweepFolder, slots: int | None, pushing: bool = True) -> bool | State:
    from flows.driver.stopping import until_stopped
    from flows.driver.work import RunFailed
    from flows.sweeps.push import NotPushed

    os.environ.update(absolute_places(os.environ, folder.home))
    run = partial(_sweep, folder, slots=slots, pushing=pushing)
    try:
        return until_stopped(run)
    except (RunFailed, NotPushed) as failure:  # returned: Prefect prints tracebacks of what is not
        return Failed(message=str(failure), data=failure)


def absolute_places(environment: Mapping[str, str], root: Path) -> dict[str, str]:
    """The variables with paths relative to a checkout, made absolute, as a worktree would resolve
    them elsewhere.
    """
    mirror = environment.get(MIRROR_VARIABLE)
    places = {MIRROR_VARIABLE: str(root / mirror)} if mirror else {}
    uri = environment.get(URI_VARIABLE, "")
    if uri.startswith(_DATABASE):
        places[URI_VARIABLE] = f"{_DATABASE}{root / uri.removeprefix(_DATABASE)}"
    return places


def _sweep(folder: SweepFolder, commands: Commands, slots: int | None, pushing: bool) -> bool:
    from flows.driver.drive import drive
    from flows.sweeps.push import push
    from flows.sweeps.tree import make_tree, restore

    make_tree(folder, commands)
    if not drive(folder, commands, slots):
        return False
    restore(folder, commands)
    if pushing:
        push(folder, commands, get_run_logger().info)
    return True
