"""Training with verl on a cluster: a job is built, followed to its end, and its result collected.

This process trains nothing and imports no verl.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from transformers import AutoConfig, AutoTokenizer

from pipeline.config.lookup import lookup
from pipeline.config.params import TrainedCell
from pipeline.model.manifest import resolve
from pipeline.ops.cluster.attempts import attempts_folder
from pipeline.ops.cluster.job import NODE_MINUTES, Diagnosis, Job
from pipeline.ops.cluster.training_job import TrainingJob
from pipeline.ops.planning.limits import time_limit
from pipeline.ops.verl.failures import circumstances, judge
from pipeline.ops.verl.overrides import planned
from pipeline.ops.verl.placement import place
from pipeline.ops.verl.spec import HELPER_CPUS, RANK_CPUS, JobSpec
from pipeline.ops.verl.trainers import check_trainable
from pipeline.stages.common import CellStage, input_digest
from pipeline.stages.training import Settings, say_left_out
from pipeline.train.checks import check_fit
from pipeline.train.contract import History, Outcome
from pipeline.train.data import CellRows
from pipeline.train.schedule import Schedule
from pipeline.train.shapes import shape_of

START_SECONDS = 900.0
"""Without progress, between a job's accelerators and its first step: then it has hung."""

# Where a cell trains may change between two attempts; what comes of it must not.
_PLACE = {"accelerator", "memory", "gpus", "node_gpus", "nodes", "tensor_parallel", "offload"}
_MADE_BY = {"algorithm", "seed", "train", "keeps"}
_PATIENCE = {"time_limit_minutes", "stall_minutes", "retries"}


class VerlTraining:
    """A run of verl through a Ray job.

    Args:
        own: The stage of the cell.
        cell: A trained cell.
    """

    def __init__(self, own: CellStage, cell: TrainedCell) -> None:
        recipe, stage = cell.train, own.stage
        self._own, self._cell, self._recipe = own, cell, recipe
        check_trainable(recipe, cell.algorithm)
        base, inputs = stage.root / cell.base, stage.root / cell.inputs
        start = stage.start_of(cell)
        folder = resolve(base, start, cell.model)
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        rows = CellRows.load(inputs, tokenizer, cell)
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        check_fit(config, tokenizer, rows.read.rows, rows.validation.rows, recipe)
        say_left_out(own.key, rows, cell)
        self._inputs, self.skipped = inputs, rows.train.skipped
        self.total, _ = planned(recipe, len(rows.train.rows))
        self.made_from: Settings = {
            **_settings(cell),
            "base": input_digest(base),
            "data": input_digest(inputs),
        }
        self.work, self.lengthens = stage.work("verl", *self.made_from.values()), False
        model = lookup(stage.params.base, cell.model, "model").model
        shape = shape_of(model)
        placement = place(shape, recipe, cell.algorithm, recipe.cluster)
        schedule = Schedule.of(recipe, len(rows.train.rows))
        asked = len(rows.validation.rows)
        self._time_limit = time_limit(cell, shape, placement, schedule, asked)
        self._spec = JobSpec(
            key=own.key,
            cell=cell,
            placement=placement,
            base=folder.name,
            made_by=start.made_by,
            weights=str(start.root.resolve()),
            state=str(self.work.resolve()),
            rows=len(rows.train.rows),
            validation=dict(Counter(row.example.task for row in rows.validation.rows)),
        )

    def run(self, report: Callable[[History], None]) -> Outcome:
        """Train; see :class:`pipeline.stages.training.Training`."""
        job = TrainingJob(
            self._spec,
            self._inputs,
            self.work,
            self._own.weights,
            self._job,
            self._judge,
        )
        return job.run(report)

    def _judge(self, lines: Sequence[str], stepped: bool) -> Diagnosis | None:
        spec = self._spec
        where = circumstances(self._own.key, spec.placement, spec.state)
        return judge(lines, where, stepped=stepped)

    def _job(self, folder: Path) -> Job:
        cluster, placement = self._recipe.cluster, self._spec.placement
        return Job(
            name=f"{self._own.stage.study}-{self._own.key}",
            arguments=("python", "-m", "pipeline.ops.verl.job"),
            folder=folder,
            environment=self._environment(),
            gpus=placement.gpus,
            nodes=placement.nodes,
            helper_cpus=HELPER_CPUS,
            rank_cpus=RANK_CPUS,
            time_limit=self._time_limit,
            stall_limit=60 * cluster.stall_minutes,
            start_limit=START_SECONDS,
            retries=cluster.retries,
        )

    def _environment(self) -> dict[str, str]:
        """The variables of the job and of all its workers."""
        variables = {
            "HF_HUB_OFFLINE": "1",
            "PYTHONUNBUFFERED": "1",
            "RAY_DEDUP_LOGS": "0",
            "VERL_FILE_LOGGER_ROOT": str(attempts_folder(Path(self._spec.state))),
            "VLLM_USE_FLASHINFER_SAMPLER": "0",  # FlashInfer compiles it, if nvcc is there
        }
        modules = ["placed", *(["critics"] if self._cell.algorithm.critic else [])]
        variables["VERL_USE_EXTERNAL_MODULES"] = ",".join(f"pipeline.ops.verl.{m}" for m in modules)
        if NODE_MINUTES in os.environ:
            variables[NODE_MINUTES] = os.environ[NODE_MINUTES]
        return variables


def _settings(cell: TrainedCell) -> Settings:
    anywhere = {"train": {"cluster": _PLACE | _PATIENCE}}
    return cell.model_dump(mode="json", include=_MADE_BY, exclude=anywhere)
