"""Training as a Ray job: its folder is uploaded, its lines are heard, its result is collected."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import pipeline
from pipeline.base.errors import UserError
from pipeline.formats.files import remove, replacing
from pipeline.formats.weights import WeightsFolder
from pipeline.ops.cluster.job import NOTE, SAVED, STEP, Diagnosis, Job
from pipeline.ops.cluster.job_lines import OUTCOME, RESULT, SPEC, TrainingSpec
from pipeline.ops.cluster.run import run_job
from pipeline.train.contract import History, Outcome, Step

Judge = Callable[[Sequence[str], bool], Diagnosis | None]
"""Says what is to be done about a failed attempt, from its last lines and whether it stepped."""


@dataclass
class TrainingJob:
    """A job that trains a cell.

    Attributes:
        spec: What it is to do.
        inputs: Folder of the datasets.
        work: Of the stage; takes what is uploaded, and all that the job says.
        weights: Receives the trained models.
        job_of: From the folder that is uploaded to the job.
        judge: Judges its failures.
    """

    spec: TrainingSpec
    inputs: Path
    work: Path
    weights: WeightsFolder
    job_of: Callable[[Path], Job]
    judge: Judge = lambda lines, stepped: None

    def run(self, report: Callable[[History], None]) -> Outcome:
        """Train; see :class:`pipeline.stages.training.Training`."""
        folder, log, key = self.work / "job", self.work / "job.log", self.spec.key
        self.work.mkdir(parents=True, exist_ok=True)
        _write_folder(folder, self.spec, self.inputs)
        with log.open("a", encoding="utf-8") as file:
            heard = _Heard(key, file, report)
            job = self.job_of(folder)
            outcome = run_job(job, heard, lambda lines: self.judge(lines, heard.stepped))
        if outcome.status != "succeeded" or not heard.digest:
            raise outcome.error(
                f"cell {key}",
                f"The whole log: {log}. Run it again to resume from the last checkpoint",
            )
        return self._collected(heard.digest)

    def _collected(self, digest: str) -> Outcome:
        """Bring the models that a job kept to their place, and return its outcome.

        Raises:
            UserError: If they are not seen here.
        """
        kept = self.spec.kept
        if not (kept.root / digest).is_dir():
            raise UserError(
                f"cell {self.spec.key}: the job has kept its models in {kept.root} on its node, "
                "which this machine does not see: the checkout must lie in a folder that this "
                "machine and every node of the cluster see under the same path"
            )
        outcome = Outcome.read(kept.get(digest) / OUTCOME, kept.made_by)
        for model in outcome.models:
            self.weights.share(kept, model.digest)
        return outcome


def _write_folder(folder: Path, spec: TrainingSpec, inputs: Path) -> None:
    """Write the folder that is uploaded: this package, the datasets, the specification."""
    remove(folder)
    with replacing(folder) as temporary:
        temporary.mkdir()
        package, ignore = Path(pipeline.__file__).parent, shutil.ignore_patterns("__pycache__")
        shutil.copytree(package, temporary / package.name, ignore=ignore)
        for name in ("train.parquet", "validation.parquet"):
            shutil.copy2(inputs / name, temporary / name)
        spec.write(temporary / SPEC)


@dataclass
class _Heard:
    """Hears the lines of a job."""

    key: str
    file: TextIO
    report: Callable[[History], None]
    history: History = field(default_factory=History)
    digest: str = ""
    stepped: bool = False

    def __call__(self, line: str) -> None:
        if line.startswith(STEP):
            self.history = self.history.adding(Step.from_line(line.removeprefix(STEP)))
            self.report(self.history)
            self.stepped |= self.history.last.step > 0
        elif line.startswith(SAVED):
            self.stepped = True  # in an attempt before
        elif line.startswith(RESULT):
            self.digest = line.removeprefix(RESULT).strip()
        elif line.startswith((NOTE, "cluster: ")):
            print(f"train {self.key}: {line.removeprefix(NOTE)}", flush=True)
        self.file.write(f"{line}\n")
        self.file.flush()
