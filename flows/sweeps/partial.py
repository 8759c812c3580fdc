"""What is there of a sweep whose cells have failed: a report, with the causes."""

from __future__ import annotations

import logging
from pathlib import Path

from flows.sweeps.record import SweepFolder, sweep_names
from pipeline.base.errors import UserError
from pipeline.config.params import Params
from pipeline.formats.files import discard
from pipeline.ops.driver.partial import partial_folder, write_partial

log = logging.getLogger(__name__)


def leave_partial_report(folder: SweepFolder) -> None:
    """Write the report of the cells that are done; a sweep does not fail for want of it."""
    params = folder.params()
    target = partial_folder(folder.home, params.study.name)
    if target.exists():
        discard(target)
    try:
        write_partial(params, folder.shared, target, failures(folder))
        log.info("what is there of the sweep: %s", target / "index.html")
    except UserError as error:
        log.warning("there is no partial report: %s", error)


def failures(folder: SweepFolder) -> dict[str, str]:
    """Return why cells of a sweep have failed, by cell: ``STAGE: CAUSE``."""
    states = {key: folder.cell(key) for key in folder.params().cells}
    return {
        key: ": ".join(filter(None, (state.stage, state.cause)))
        for key, state in states.items()
        if state.state == "failed"
    }


def unfinished(home: Path, params: Params) -> list[SweepFolder]:
    """Return the sweeps of this very study that have not ended."""
    folders = [SweepFolder(home, name) for name in sweep_names(home)]
    return [each for each in folders if not each.sweep().ended and each.params() == params]
