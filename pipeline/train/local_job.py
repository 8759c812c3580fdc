"""The job of the local trainer: trains one cell on the part of a node that it is given.

``python -m pipeline.train.local_job`` runs in the folder that the stage uploaded. It may be killed
at any time and started again: its state folder says how far it came. It speaks to the stage in
lines, see :mod:`pipeline.train.job_lines`.
"""

from __future__ import annotations

import signal
from pathlib import Path

from pipeline.config.params import TrainedCell
from pipeline.files import remove, replacing
from pipeline.records import Record
from pipeline.store import LocalStore
from pipeline.train.attempts import attempting, result_file, take_over
from pipeline.train.contract import History
from pipeline.train.job_lines import (
    OUTCOME,
    SAVED,
    SPEC,
    STEP,
    JobResult,
    say,
    work_off,
)
from pipeline.train.local_run import LocalRun
from pipeline.train.stopping import Interrupted


class LocalJobSpec(Record):
    """One training run.

    Attributes:
        key: Key of the cell.
        cell: The cell.
        threads: To compute with.
        base: Digest of the base model in the store.
        made_by: The stage that made the base model.
        store: Root of the artifact store.
        state: The state folder.
    """

    key: str
    cell: TrainedCell
    threads: int
    base: str
    made_by: str
    store: str
    state: str


class _Reporter:
    """Tells the stage of every step once, and of every checkpoint."""

    def __init__(self) -> None:
        self._saved = 0

    def __call__(self, history: History, saved: int) -> None:
        if saved > self._saved:
            self._saved = saved
            say(SAVED, str(saved))
        say(STEP, history.last.line)


def run(spec: LocalJobSpec, folder: Path) -> str:
    """Train with the lease on the state folder, and return the digest of the result.

    Args:
        spec: What to do.
        folder: The uploaded folder, with the datasets.

    Raises:
        LeaseLost: If another attempt took over.
        UserError: If something fails that its user must mend.
        Interrupted: If it was asked to stop; running again goes on from there.
    """
    root, store = Path(spec.state), LocalStore(Path(spec.store))
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    with attempting(root) as (lease, lost):
        if result_file(root).is_file():
            return JobResult.read(result_file(root), f"train@{spec.key}").digest
        state = take_over(root, lease.name)
        base = store.get(spec.base, spec.made_by)
        training = LocalRun(spec.cell, spec.threads, base, folder, store)
        try:
            outcome = training.train(state, _Reporter(), lambda: bool(asked) or lost.is_set())
        except Interrupted:
            lease.check()  # an attempt that was overtaken says that
            raise
        lease.check()
        with replacing(state / "result") as temporary:
            outcome.write(temporary / OUTCOME)
        digest = store.put(state / "result")
        lease.check()
        JobResult(digest=digest).write(result_file(root))
        remove(state)
        return digest


def main() -> None:
    """Run the job of the current folder."""
    work_off(lambda: run(LocalJobSpec.read(Path.cwd() / SPEC, "train"), Path.cwd()))


if __name__ == "__main__":
    main()
