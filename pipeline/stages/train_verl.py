"""Training with verl on a cluster: a job is built, followed to its end, and its result collected.

This process trains nothing and imports no verl.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from transformers import AutoConfig, AutoTokenizer

from pipeline.cluster.job import Job, Verdict
from pipeline.config.lookup import lookup
from pipeline.config.params import TrainedCell
from pipeline.model.manifest import Manifest, resolve
from pipeline.stages.common import Stage, input_digest
from pipeline.stages.training import Settings, say_left_out
from pipeline.stages.training_job import TrainingJob
from pipeline.train.attempts import attempts_folder
from pipeline.train.checks import check_fit
from pipeline.train.contract import History, Outcome
from pipeline.train.data import CellRows, probed_rows
from pipeline.train.shapes import shape_of
from pipeline.train.verl.failures import Circumstances, judge
from pipeline.train.verl.layout import COLUMNS
from pipeline.train.verl.overrides import planned
from pipeline.train.verl.placement import place
from pipeline.train.verl.spec import JobSpec
from pipeline.train.verl.trainers import check_trainable

REQUIRES = {"verl": "==0.9.1", "transfer_queue": ">=0.1.10", "torch": "", "transformers": ""}
"""What the job's environment must have, by module."""

# Where a cell trains may change between two attempts; what comes of it must not.
_PLACE = {"accelerator", "gpus", "nodes", "tensor_parallel", "offload"}
_PATIENCE = {"time_limit_minutes", "stall_minutes", "retries", "host_memory_share"}


class VerlTraining:
    """A run of verl through a Ray job.

    Args:
        stage: The stage.
        key: Key of the cell.
        cell: A trained cell.
    """

    def __init__(self, stage: Stage, key: str, cell: TrainedCell) -> None:
        recipe = cell.train
        self._stage, self._key, self._cell, self._recipe = stage, key, cell, recipe
        check_trainable(recipe, cell.algorithm)
        base, inputs = stage.root / cell.base, stage.root / cell.inputs
        folder = resolve(base, stage.store, cell.model, f"base@{cell.model}")
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        rows = CellRows.load(inputs, tokenizer, cell)
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        check_fit(config, tokenizer, rows.read.rows, rows.validation.rows, recipe)
        say_left_out(key, rows, cell)
        # Before they are left out on the cluster.
        tell = partial(print, f"train {key}:")
        probed_rows(inputs / COLUMNS, tokenizer, recipe, tell)
        self._inputs, self.skipped = inputs, rows.train.skipped
        self.total, _ = planned(recipe, len(rows.train.rows))
        self.made_from: Settings = {
            **_settings(cell),
            "base": input_digest(base),
            "data": input_digest(inputs),
        }
        self.work = stage.work("verl", *self.made_from.values())
        model = lookup(stage.params.base, cell.model, "model").model
        self._spec = JobSpec(
            key=key,
            cell=cell,
            placement=place(shape_of(model), recipe, cell.algorithm, recipe.cluster, model.kind),
            base=Manifest.read_of(base, cell.model, f"base@{cell.model}").used.digest,
            made_by=f"base@{cell.model}",
            store=str(stage.store.root),
            state=str(self.work.resolve()),
            rows=len(rows.train.rows),
            validation=dict(Counter(row.example.task for row in rows.validation.rows)),
        )

    def run(self, report: Callable[[History], None]) -> Outcome:
        """Train; see :class:`pipeline.stages.training.Training`."""
        job = TrainingJob(self._spec, self._inputs, self.work, self._job, self._judge)
        return job.run(report)

    def _judge(self, lines: Sequence[str], stepped: bool) -> Verdict | None:
        spec = self._spec
        where = Circumstances.of(self._key, spec.placement, spec.state)
        return judge(lines, where, stepped=stepped)

    def _job(self, folder: Path) -> Job:
        cluster, placement = self._recipe.cluster, self._spec.placement
        return Job(
            name=f"{self._stage.study}-{self._key}",
            arguments=("python", "-m", "pipeline.train.verl.job"),
            folder=folder,
            environment=_environment(self._spec, self._stage.params.study.threads),
            gpus=placement.gpus,
            nodes=placement.nodes,
            cpu_only=placement.on_cpu,
            time_limit=60 * cluster.time_limit_minutes,
            stall_limit=60 * cluster.stall_minutes,
            retries=cluster.retries,
            requires=REQUIRES,
        )


def _settings(cell: TrainedCell) -> Settings:
    """Return what the result depends on."""
    anywhere = {"train": {"cluster": _PLACE | _PATIENCE}}
    return cell.model_dump(mode="json", include={"algorithm", "seed", "train"}, exclude=anywhere)


def _environment(spec: JobSpec, threads: int) -> dict[str, str]:
    """Return the variables of the job and of all its workers."""
    variables = {
        "HF_HUB_OFFLINE": "1",
        "PYTHONUNBUFFERED": "1",
        "RAY_DEDUP_LOGS": "0",
        "VERL_FILE_LOGGER_ROOT": str(attempts_folder(Path(spec.state))),
        "VLLM_USE_FLASHINFER_SAMPLER": "0",  # FlashInfer compiles it, if nvcc is there
    }
    modules = []
    if spec.placement.on_cpu:
        variables |= {"OMP_NUM_THREADS": str(threads), "VERL_PLATFORM": "cpu"}
        modules.append("pipeline.train.verl.cpu_plugin")
    if spec.cell.algorithm.critic:
        modules.append("pipeline.train.verl.critics")
    return variables | ({"VERL_USE_EXTERNAL_MODULES": ",".join(modules)} if modules else {})
