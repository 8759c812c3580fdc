"""Training with verl on a cluster: a job is built, followed to its end, and its result collected.

This process trains nothing and imports no verl.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic.main import IncEx

from pipeline.config.lookup import lookup
from pipeline.config.params import TrainedCell
from pipeline.ops.cluster.attempts import attempts_folder
from pipeline.ops.cluster.job import NODE_DISK, NODE_MINUTES, Diagnosis, Job
from pipeline.ops.cluster.training_job import JobTraining
from pipeline.ops.planning.limits import time_limit
from pipeline.ops.verl.failures import circumstances, judge
from pipeline.ops.verl.layout import LAST_STEP, RANK_MODULES
from pipeline.ops.verl.memory import FLOAT, frozen
from pipeline.ops.verl.overrides import planned
from pipeline.ops.verl.placement import place
from pipeline.ops.verl.plan import PATHS
from pipeline.ops.verl.spec import HELPER_CPUS, RANK_CPUS, JobSpec
from pipeline.ops.verl.trainers import trainer_of
from pipeline.stages.common import CellStage, input_digest
from pipeline.stages.training import Settings
from pipeline.train.schedule import Schedule
from pipeline.train.shapes import shape_of

START_SECONDS = 900.0
"""Without progress, between a job's accelerators and its first step: then it has hung."""

# Where a cell trains may change between two attempts; what comes of it must not.
_PLACE = {"accelerator", "memory", "gpus", "node_gpus", "nodes", "tensor_parallel", "offload"}
_MADE_BY = {"algorithm", "seed", "train", "keeps"}
_PATIENCE = {"time_limit_minutes", "stall_minutes", "retries"}


class VerlTraining(JobTraining):
    """A run of verl through a Ray job."""

    spec: JobSpec

    def __init__(self, own: CellStage, cell: TrainedCell) -> None:
        super().__init__(own, cell)
        recipe, stage, rows = cell.train, own.stage, self.rows
        count = len(rows.train.rows)
        self.total, _ = planned(recipe, count)
        self.made_from = {
            **_settings(cell),
            "base": input_digest(stage.root / cell.base),
            "data": input_digest(self.inputs),
        }
        self.work = stage.work("verl", *self.made_from.values())
        shape = shape_of(lookup(stage.params.base, cell.model, "model").model)
        placement = place(shape, recipe, cell.algorithm, recipe.cluster)
        # What verl cannot do is refused before its job asks for accelerators.
        trainer_of(cell.algorithm).overrides(cell, placement, PATHS, count, False)
        schedule = Schedule.of(recipe, count)
        self._time_limit = time_limit(cell, shape, placement, schedule, len(rows.validation.rows))
        self.spec = JobSpec(
            key=own.key,
            cell=cell,
            placement=placement,
            base=self.base.name,
            made_by=self.start.made_by,
            weights=str(self.start.root.resolve()),
            state=str(self.work.resolve()),
            rows=count,
            validation=dict(Counter(row.example.task for row in rows.validation.rows)),
        )

    def judge(self, lines: Sequence[str], stepped: bool) -> Diagnosis | None:
        where = circumstances(self.own.key, self.spec.placement, self.spec.state)
        return judge(lines, where, stepped=stepped)

    def job(self, folder: Path) -> Job:
        """A job that reserves all accelerators of the cell's placement."""
        cluster, placement = self.cell.train.cluster, self.spec.placement
        return Job(
            name=f"{self.own.stage.study}-{self.own.key}",
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
            "VERL_FILE_LOGGER_ROOT": str(attempts_folder(Path(self.spec.state))),
            "VLLM_USE_FLASHINFER_SAMPLER": "0",  # FlashInfer compiles it, if nvcc is there
        }
        modules = ["placed", "ranks", *(["critics"] if self.cell.algorithm.critic else [])]
        of_ranks = ["float_adapters"] if frozen(self.cell.train) < FLOAT else []
        if disk := os.environ.get(NODE_DISK):
            of_ranks.append("node_disk")
            variables |= {NODE_DISK: disk, LAST_STEP: str(self.total)}
        for name, chosen in (("VERL_USE_EXTERNAL_MODULES", modules), (RANK_MODULES, of_ranks)):
            variables[name] = ",".join(f"pipeline.ops.verl.{module}" for module in chosen)
        if NODE_MINUTES in os.environ:
            variables[NODE_MINUTES] = os.environ[NODE_MINUTES]
        return variables


def _settings(cell: TrainedCell) -> Settings:
    elsewhere: Mapping[str, IncEx | bool] = {"cluster": _PLACE | _PATIENCE, "stop_on": True}
    return cell.model_dump(mode="json", include=_MADE_BY, exclude={"train": elsewhere})
