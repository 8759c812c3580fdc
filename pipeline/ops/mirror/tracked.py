"""A stage of a cell as MLflow sees it: live once it takes long, and told afterwards if it does not.

To import MLflow and open its database takes longer than many a stage of a tiny model works. So a
stage keeps what it has to say until it has worked :data:`PATIENCE` seconds. One that has ended by
then leaves its results, its times and how it ended in files, which the report, a sweep or
``tomrl sync`` sends (:func:`pipeline.ops.mirror.send.complete`); one that fails says so at once.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from pipeline.ops.mirror.cell_run import CellRun, cell_run
from pipeline.ops.mirror.circumstances import circumstances
from pipeline.ops.mirror.done import Done
from pipeline.ops.mirror.ended import Ended
from pipeline.ops.mirror.failed import forget_cause, leave_cause
from pipeline.ops.mirror.run import Row, Tracker, first_line
from pipeline.ops.mirror.send import mirror
from pipeline.ops.mirror.server import answers, may_be_told_later, prepare
from pipeline.ops.mirror.system import watched
from pipeline.stages.common import Stage
from pipeline.stages.followed import PATIENCE

log = logging.getLogger(__name__)


class StageRun:
    """What a stage tells MLflow while it works.

    Args:
        connect: Opens the run of the cell.
        patience: Seconds until that is done; what is said earlier is kept.
    """

    def __init__(self, connect: Callable[[], CellRun], patience: float) -> None:
        self._connect, self._patience = connect, patience
        self._began = time.monotonic()
        self._kept: list[Callable[[Tracker], None]] = []
        self._out_of_reach = False
        self.live: CellRun | None = None

    @property
    def seconds(self) -> float:
        """Return how long the stage has worked."""
        return time.monotonic() - self._began

    def step(
        self, stage: str, step: int, values: Row, at: float, timing: Row | None = None
    ) -> None:
        """Store what one step measured, as :meth:`pipeline.ops.mirror.run.Tracker.step` does."""
        self._say(lambda tracker: tracker.step(stage, step, values, at, timing))

    def tags(self, values: Mapping[str, object]) -> None:
        """Store tags."""
        self._say(lambda tracker: tracker.tags(values))

    def look(self) -> None:
        """Say that the stage is under way."""
        self._say(lambda _: None)

    def connect(self) -> None:
        """Open the run and say what was kept.

        Raises:
            UserError: If MLflow does not answer.
        """
        self.live = self._connect()
        for say in self._kept:
            say(self.live.cell)
        self._kept.clear()

    def try_to_connect(self) -> None:
        """Open the run and say what was kept; a fault is said once and then ignored."""
        try:
            self.connect()
        except Exception as error:
            self._out_of_reach = True
            self._kept.clear()
            log.warning(
                "MLflow cannot be told of this stage (%s): going on without it; the files hold "
                "everything, send them later with: tomrl sync",
                first_line(error),
            )

    def _say(self, what: Callable[[Tracker], None]) -> None:
        if self.live is not None:
            what(self.live.cell)
        elif not self._out_of_reach:
            self._kept.append(what)
            if self.seconds >= self._patience:
                self.try_to_connect()


@contextmanager
def tracked(stage: Stage, key: str, patience: float = PATIENCE) -> Iterator[StageRun]:
    """Follow a stage of a cell, which writes its results inside the block.

    Args:
        stage: The stage.
        key: The cell.
        patience: Seconds until MLflow shows it; 0 shows it from the start.

    Raises:
        UserError: If MLflow does not answer, before anything is done; not where it may be told
            later.
    """
    done = Done(stage.params, key, stage.name, stage.root)
    began, told = time.time(), circumstances(stage.root)

    def connect() -> CellRun:
        run = cell_run(stage.params, key, stage.root, stage.name, began, told)
        run.begin(told)
        return run

    run = StageRun(connect, patience)
    if not patience:
        (run.try_to_connect if may_be_told_later() else run.connect)()
    elif not may_be_told_later() and not answers(stage.root):
        prepare(stage.root)  # which says what is wrong

    def hear(step: int, figures: Row, at: float) -> None:
        if run.live:  # the stage's own thread opens the run
            run.live.cell.step(f"system/{stage.name}", step, figures, at)

    status = "FAILED"
    forget_cause(done.logs)
    try:
        with watched(done.logs, hear):
            yield run
        if run.live and done.digest:
            mirror(run.live.cell, stage.params, key, stage.name, stage.root)
        status = "FINISHED"
    except KeyboardInterrupt:
        status = "KILLED"
        raise
    except Exception as error:
        leave_cause(done.logs, error)
        if not run.live:
            run.try_to_connect()
        if run.live:
            run.live.fail(error)
        raise
    finally:
        ended = Ended(status, began, run.seconds, told)
        # What failed has not replaced what is there: that it failed, MLflow knows.
        if status == "FINISHED" or not run.live:
            ended.leave(done.logs)
        if run.live:
            run.live.end(status, ended.seconds)
