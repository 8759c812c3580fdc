"""Why a stage of a cell failed, in a file beside its times, until it begins again."""

from __future__ import annotations

import logging
from pathlib import Path

from pipeline.config.params import Params
from pipeline.formats.files import write_text
from pipeline.ops.mirror.run import first_line

NAME = "failed.txt"
log = logging.getLogger(__name__)


def leave_cause(logs: Path, error: BaseException) -> None:
    """Write why a stage failed; that there is no room for it stops nothing."""
    try:
        write_text(logs / NAME, f"{first_line(error)}\n")
    except OSError as trouble:
        log.warning("%s: not written (%s)", logs / NAME, trouble)


def forget_cause(logs: Path) -> None:
    """Remove what an earlier run of a stage left."""
    (logs / NAME).unlink(missing_ok=True)


def causes(params: Params, root: Path) -> dict[str, str]:
    """Return why cells of a study failed when they last ran, by cell: ``STAGE: CAUSE``."""
    logs = root / "logs" / params.study.name
    return {
        key: f"{path.parent.name}: {path.read_text(encoding='utf-8').strip()}"
        for key in params.cells
        for path in sorted((logs / key).glob(f"*/{NAME}"))
    }
