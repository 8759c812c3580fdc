"""The report of a study in its MLflow run, with all that MLflow lacks of the cells."""

from __future__ import annotations

import logging

from pipeline.base.errors import UserError
from pipeline.ops.mirror.catalogue import send_report
from pipeline.ops.mirror.cell_run import study_run
from pipeline.ops.mirror.send import complete
from pipeline.stages.common import Stage

log = logging.getLogger(__name__)


def keep_report(stage: Stage) -> None:
    """Send a report, and what MLflow lacks of its cells; an outage is said, and stops nothing.

    Args:
        stage: The stage ``report``, whose report is in its place.
    """
    try:
        with study_run(stage.params, stage.root) as tracker:
            complete(stage.params, stage.root, study=tracker)
            send_report(tracker, stage.root, stage.study)
    except UserError as error:
        log.warning("%s; the files hold everything, send them later with: tomrl sync", error)
