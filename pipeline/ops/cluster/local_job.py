"""The job of the local trainer: trains one cell on the part of a node that it is given.

``python -m pipeline.ops.cluster.local_job`` runs in the folder that the stage uploaded. It may be
killed at any time and started again: its state folder says how far it came. It speaks to the stage
in lines, see :mod:`pipeline.ops.cluster.job_lines`.
"""

from __future__ import annotations

import signal
from pathlib import Path

from pipeline.ops.cluster.attempts import JobAttempt, train_once
from pipeline.ops.cluster.job import SAVED, STEP
from pipeline.ops.cluster.job_lines import SPEC, TrainingSpec, say, work_off
from pipeline.train.contract import History, Outcome
from pipeline.train.local_run import LocalRun


class LocalJobSpec(TrainingSpec):
    """One training run.

    Attributes:
        threads: To compute with.
    """

    threads: int


class _Reporter:
    """Tells the stage of every step once, and of every checkpoint."""

    def __init__(self, attempt: JobAttempt) -> None:
        self._attempt, self._saved = attempt, 0

    def __call__(self, history: History, saved: int) -> None:
        self._attempt.check()
        if saved > self._saved:
            self._saved = saved
            say(SAVED, str(saved))
        say(STEP, history.last.line)


def run(spec: LocalJobSpec, folder: Path) -> str:
    """Train as the only attempt, and return the digest of the result.

    Args:
        spec: What to do.
        folder: The uploaded folder, with the datasets.

    Raises:
        Overtaken: If another attempt took over.
        UserError: If something fails that its user must fix.
        Interrupted: If it was asked to stop; running again goes on from there.
    """
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))

    def train(attempt: JobAttempt) -> Outcome:
        training = LocalRun(spec.cell, spec.threads, spec.start(), folder, spec.kept)
        return training.train(attempt.folder, _Reporter(attempt), lambda: bool(asked))

    return train_once(spec, train)


def main() -> None:
    """Run the job of the current folder."""
    work_off(lambda: run(LocalJobSpec.read(Path.cwd() / SPEC, "train"), Path.cwd()))


if __name__ == "__main__":
    main()
