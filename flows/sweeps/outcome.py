"""The state of a sweep for MLflow: in the study's run, and in those of killed cells.

A killed stage reports nothing, so that its cell's run would appear under way for ever.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import get_args

from flows.driver.progress import State
from flows.sweeps.record import SweepFolder, sweep_names
from pipeline.base.errors import UserError
from pipeline.base.ownership import is_owned
from pipeline.ops.mirror.cell_run import cells_under_way, study_tracker
from pipeline.ops.mirror.server import answering, prepare, tracking_uri

log = logging.getLogger(__name__)

_STATUS = {"failed": "FAILED", "stopped": "KILLED", "running": "KILLED"}


def track(folder: SweepFolder) -> None:
    """Send the state of a sweep while none of its stages runs."""
    sweep, params = folder.sweep(), folder.params()
    states = {key: folder.cell(key) for key in params.cells}
    client = prepare(folder.home)
    with answering(tracking_uri(folder.home)):
        parent = study_tracker(client, params, sweep.commit)
        under_way = cells_under_way(client, params)
    count = {name: sum(each.state == name for each in states.values()) for name in get_args(State)}
    figures = {**count, "seconds": sum(state.seconds for state in states.values())}
    parent.step("sweep", 0, figures, time.time())
    causes = {f"failure.{key}": state.cause for key, state in states.items()}
    failed = [key for key, state in states.items() if state.state == "failed"]
    parent.tags({"sweep": sweep.name, "sweep.failed": ", ".join(failed)})
    parent.tags({name: cause for name, cause in causes.items() if cause})
    for key, tracker in under_way.items():
        if status := _STATUS.get(states[key].state):
            tracker.end(status, "sweep", 0)
    ends = [status for name, status in _STATUS.items() if count[name]]
    parent.end(ends[0] if ends else "FINISHED", "sweep", 0)


def track_quietly(folder: SweepFolder) -> None:
    """The same, with failures logged: a sweep does not fail for want of MLflow."""
    try:
        track(folder)
    except UserError as error:
        log.warning("%s; send how the sweep stands later with: tomrl sync", error)


def track_all(home: Path, study: str) -> list[str]:
    """Send the state of a study's sweeps that are not under way; return their names."""
    folders = [SweepFolder(home, name) for name in sweep_names(home)]
    found = [each for each in folders if each.sweep().study == study and not is_owned(each.path)]
    for folder in found:
        track(folder)
    return [folder.name for folder in found]
