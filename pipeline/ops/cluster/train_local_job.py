"""Training by the local trainer on a cluster: as a Ray job on a part of one node.

Several small cells share an accelerator. This process trains nothing and loads no model.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path

from transformers import AutoConfig, AutoTokenizer

from pipeline.config.params import TrainedCell
from pipeline.model.manifest import resolve
from pipeline.ops.cluster.client import configured_address, connect
from pipeline.ops.cluster.job import Job
from pipeline.ops.cluster.local_job import LocalJobSpec
from pipeline.ops.cluster.training_job import TrainingJob
from pipeline.stages.common import CellStage
from pipeline.stages.train_local import made_from
from pipeline.stages.training import say_left_out
from pipeline.train.checks import check_fit
from pipeline.train.contract import History, Outcome
from pipeline.train.data import CellRows
from pipeline.train.shape import Shape
from pipeline.train.shares import share_of


class LocalJobTraining:
    """A run of the local trainer through a Ray job.

    Args:
        own: The stage of the cell.
        cell: A trained cell.
    """

    def __init__(self, own: CellStage, cell: TrainedCell) -> None:
        stage = own.stage
        base, self._inputs = stage.root / cell.base, stage.root / cell.inputs
        self._start = stage.start_of(cell)
        folder = resolve(base, self._start, cell.model)
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        rows = CellRows.load(self._inputs, tokenizer, cell)
        check_fit(config, tokenizer, rows.read.rows, rows.validation.rows, cell.train)
        say_left_out(own.key, rows, cell)
        self._own, self._cell = own, cell
        self._threads = stage.params.study.threads
        self._shape = Shape.of(config.to_dict())
        self._base = folder.name
        self.made_from, self.lengthens = made_from(stage, cell), False
        self.work = stage.work("job", *self.made_from.values())
        self.total = cell.train.total_steps(len(rows.train.rows))
        self.skipped = rows.train.skipped

    def run(self, report: Callable[[History], None]) -> Outcome:
        """Train; see :class:`pipeline.stages.training.Training`."""
        spec = LocalJobSpec(
            key=self._own.key,
            cell=self._cell,
            base=self._base,
            made_by=self._start.made_by,
            weights=str(self._start.root.resolve()),
            state=str(self.work.resolve()),
            threads=self._threads,
        )
        job = TrainingJob(spec, self._inputs, self.work, self._own.weights, self._job)
        return job.run(report)

    def _job(self, folder: Path) -> Job:
        cluster, share = self._cell.train.cluster, self._share()
        variables = {
            "HF_HUB_OFFLINE": "1",
            "PYTHONUNBUFFERED": "1",
            "OMP_NUM_THREADS": str(self._threads),
        }
        if not share:  # an accelerator of the node is not this job's
            variables["CUDA_VISIBLE_DEVICES"] = ""
        return Job(
            name=f"{self._own.stage.study}-{self._own.key}",
            arguments=("python", "-m", "pipeline.ops.cluster.local_job"),
            folder=folder,
            environment=variables,
            gpus=0,
            own_gpus=share,
            own_cpus=self._threads,
            time_limit=60 * (cluster.time_limit_minutes or math.inf),
            stall_limit=60 * cluster.stall_minutes,
            retries=cluster.retries,
        )

    def _share(self) -> float:
        """What part of an accelerator it takes: none where there is none to take."""
        recipe, address = self._cell.train, configured_address(os.environ)
        if recipe.device == "cpu" or address is None:
            return 0.0
        if recipe.device == "auto" and not any(connect(address).node_accelerators()):
            return 0.0
        return share_of(self._shape, recipe, self._cell.algorithm)
