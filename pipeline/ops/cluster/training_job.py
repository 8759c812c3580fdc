"""Training as a Ray job: its folder is uploaded, its lines are heard, its result is collected."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from transformers import AutoConfig, AutoTokenizer

import pipeline
from pipeline.base.errors import UserError
from pipeline.config.params import TrainedCell
from pipeline.formats.files import remove, replacing
from pipeline.model.manifest import resolve
from pipeline.ops.cluster.job import NOTE, SAVED, STEP, Diagnosis, Job
from pipeline.ops.cluster.job_lines import OUTCOME, RESULT, SPEC, TrainingSpec
from pipeline.ops.cluster.run import run_job
from pipeline.stages.common import CellStage
from pipeline.stages.training import Settings, say_left_out
from pipeline.train.checks import check_fit
from pipeline.train.contract import History, Outcome, Step
from pipeline.train.data import CellRows
from pipeline.train.kept_rollouts import LINES


class JobTraining(ABC):
    """A run of a cell through a Ray job; see :class:`pipeline.stages.training.Training`.

    Attributes:
        base: Folder of the model that the cell starts from.
        start: The folder of the stage that left it.
        inputs: Folder of the datasets.
        rows: Their content, as the cell trains on it.
        config: Of the model.
        spec: What the job is to do.

    Args:
        own: The stage of the cell.
        cell: A trained cell.
    """

    lengthens = False
    made_from: Settings
    work: Path
    total: int
    spec: TrainingSpec

    def __init__(self, own: CellStage, cell: TrainedCell) -> None:
        self.own, self.cell, stage = own, cell, own.stage
        self.start, self.inputs = stage.start_of(cell), stage.root / cell.inputs
        self.base = resolve(stage.root / cell.base, self.start, cell.model)
        self.config = AutoConfig.from_pretrained(self.base, local_files_only=True)
        tokenizer = AutoTokenizer.from_pretrained(self.base, local_files_only=True)
        self.rows = CellRows.load(self.inputs, tokenizer, cell)
        check_fit(
            self.config, tokenizer, self.rows.read.rows, self.rows.validation.rows, cell.train
        )
        say_left_out(own.key, self.rows, cell)
        self.skipped = self.rows.train.skipped

    @abstractmethod
    def job(self, folder: Path) -> Job:
        """The job to which a folder is uploaded."""

    def judge(self, lines: Sequence[str], stepped: bool) -> Diagnosis | None:
        """What is to be done about a failed attempt.

        Args:
            lines: Its last lines.
            stepped: Whether the run has made a step, in this attempt or before it.
        """
        return None

    def run(self, report: Callable[[History], None]) -> Outcome:
        """Train; see :class:`pipeline.stages.training.Training`."""
        folder, log, key = self.work / "job", self.work / "job.log", self.own.key
        self.work.mkdir(parents=True, exist_ok=True)
        _write_folder(folder, self.spec, self.inputs)
        with log.open("a", encoding="utf-8") as file:
            heard = _Heard(key, file, report)
            job = self.job(folder)
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
                f"cell {self.own.key}: the job has kept its models in {kept.root} on its node, "
                "which this machine does not see: the checkout must lie in a folder that this "
                "machine and every node of the cluster see under the same path"
            )
        result = kept.get(digest)
        outcome = Outcome.read(result / OUTCOME, kept.made_by)
        if (result / LINES).is_file():
            shutil.copy(result / LINES, self.work / LINES)
        for model in outcome.models:
            self.own.weights.share(kept, model.digest)
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
