"""Training by the local trainer on a cluster: as a Ray job on a part of one node.

Several small cells share an accelerator. This process trains nothing and loads no model.
"""

from __future__ import annotations

import math
import os
from pathlib import Path

from pipeline.config.params import TrainedCell
from pipeline.ops.cluster.client import configured_address, connect
from pipeline.ops.cluster.job import Job
from pipeline.ops.cluster.local_job import LocalJobSpec
from pipeline.ops.cluster.training_job import JobTraining
from pipeline.stages.common import CellStage
from pipeline.stages.train_local import made_from
from pipeline.train.shape import Shape
from pipeline.train.shares import share_of


class LocalJobTraining(JobTraining):
    """A run of the local trainer through a Ray job."""

    def __init__(self, own: CellStage, cell: TrainedCell) -> None:
        super().__init__(own, cell)
        self._threads = own.stage.params.study.threads
        self._shape = Shape.of(self.config.to_dict())
        self.made_from = made_from(own.stage, cell)
        self.work = own.stage.work("job", *self.made_from.values())
        self.total = cell.train.total_steps(len(self.rows.train.rows))
        self.spec = LocalJobSpec(
            key=own.key,
            cell=cell,
            base=self.base.name,
            made_by=self.start.made_by,
            weights=str(self.start.root.resolve()),
            state=str(self.work.resolve()),
            threads=self._threads,
        )

    def job(self, folder: Path) -> Job:
        """A job on a part of one node."""
        cluster, share = self.cell.train.cluster, self._share()
        variables = {
            "HF_HUB_OFFLINE": "1",
            "PYTHONUNBUFFERED": "1",
            "OMP_NUM_THREADS": str(self._threads),
        }
        if not share:  # an accelerator of the node is not this job's
            variables["CUDA_VISIBLE_DEVICES"] = ""
        return Job(
            name=f"{self.own.stage.study}-{self.own.key}",
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
        recipe, address = self.cell.train, configured_address(os.environ)
        if recipe.device == "cpu" or address is None:
            return 0.0
        if recipe.device == "auto" and not any(connect(address).node_accelerators()):
            return 0.0
        return share_of(self._shape, recipe, self.cell.algorithm)
