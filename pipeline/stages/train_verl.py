"""Training with verl on a cluster: a job is built, followed to its end, and its result collected.

This process trains nothing and imports no verl.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from transformers import AutoConfig, AutoTokenizer

import pipeline
from pipeline.cluster.job import Job, JobOutcome, Verdict
from pipeline.cluster.run import run_job
from pipeline.config.algorithms import Sft
from pipeline.config.lookup import lookup
from pipeline.config.params import TrainedCell
from pipeline.errors import UserError
from pipeline.files import remove, replacing
from pipeline.model.manifest import Manifest, resolve
from pipeline.stages.common import Stage, input_digest
from pipeline.stages.training import Settings, given_responses, say_skipped
from pipeline.train.checks import check_fit
from pipeline.train.contract import History, Outcome, Step
from pipeline.train.data import load_rows
from pipeline.train.shapes import shape_of
from pipeline.train.verl.failures import Circumstances, judge
from pipeline.train.verl.layout import attempts_folder
from pipeline.train.verl.overrides import planned
from pipeline.train.verl.placement import place
from pipeline.train.verl.spec import NAME, NOTE, OUTCOME, RESULT, SAVED, STEP, JobSpec
from pipeline.train.verl.trainers import check_trainable

REQUIRES = {"verl": "==0.9.1", "transfer_queue": ">=0.1.10", "torch": "", "transformers": ""}
"""What the job's environment must have, by module."""

_PROBE = "probe"
"""Folder of the columns that a dataset holds for the probe."""

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
        limit = recipe.max_prompt_tokens
        train = load_rows(inputs / "train.parquet", tokenizer, limit, think=recipe.think)
        validation = load_rows(inputs / "validation.parquet", tokenizer, limit, think=recipe.think)
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        check_fit(config, tokenizer, train.rows, validation.rows, recipe)
        say_skipped(key, train.skipped, validation.skipped, limit)
        train = given_responses(key, train, cell.algorithm)
        if (inputs / _PROBE).is_dir() and not isinstance(cell.algorithm, Sft):
            print(f"train {key}: the probe is left out; with verl only sft measures one")
        self._inputs, self.skipped = inputs, train.skipped
        self.total, _ = planned(recipe, len(train.rows))
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
            rows=len(train.rows),
            validation=dict(Counter(row.example.task for row in validation.rows)),
        )
        self._history = History()

    def run(self, report: Callable[[History], None]) -> Outcome:
        """Train; see :class:`pipeline.stages.training.Training`."""
        self.work.mkdir(parents=True, exist_ok=True)
        folder = self.work / "job"
        build_folder(folder, self._spec, self._inputs)
        log = self.work / "job.log"
        digests: list[str] = []
        saved = _Saved()
        with log.open("a", encoding="utf-8") as file:

            def hear(line: str) -> None:
                if line.startswith(STEP):
                    self._history = self._history.adding(Step.from_line(line.removeprefix(STEP)))
                    report(self._history)
                elif line.startswith(RESULT):
                    digests.append(line.removeprefix(RESULT).strip())
                elif line.startswith((NOTE, "cluster: ")):
                    print(f"train {self._key}: {line.removeprefix(NOTE)}", flush=True)
                file.write(f"{line}\n")
                file.flush()

            outcome = run_job(
                self._job(folder),
                on_line=hear,
                is_progress=_Progress(),
                is_saved=saved,
                judge=lambda lines: self._judge(lines, saved),
            )
        if outcome.status != "succeeded" or not digests:
            raise self._failed(outcome, log)
        return self._collect(digests[-1])

    def _judge(self, lines: Sequence[str], saved: _Saved) -> Verdict | None:
        spec = self._spec
        where = Circumstances.of(self._key, spec.placement, spec.state)
        stepped = saved.last > 0 or any(each.step > 0 for each in self._history.steps)
        return judge(lines, where, stepped=stepped)

    def _failed(self, outcome: JobOutcome, log: Path) -> UserError:
        return outcome.error(
            f"cell {self._key}",
            f"Its whole log: {log}. Running it again goes on from its last checkpoint",
        )

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

    def _collect(self, digest: str) -> Outcome:
        """Read the result that the job has put into the store."""
        made_by = f"train@{self._key}"
        return Outcome.read(self._stage.store.get(digest, made_by) / OUTCOME, made_by)


def build_folder(folder: Path, spec: JobSpec, inputs: Path) -> None:
    """Write the folder that is uploaded: this package, the datasets, the specification."""
    remove(folder)
    with replacing(folder) as temporary:
        temporary.mkdir()
        shutil.copytree(
            Path(pipeline.__file__).parent,
            temporary / "pipeline",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        for name in ("train.parquet", "validation.parquet"):
            shutil.copy2(inputs / name, temporary / name)
        if (inputs / _PROBE).is_dir():
            shutil.copytree(inputs / _PROBE, temporary / _PROBE)
        spec.write(temporary / NAME)


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
    }
    if spec.placement.on_cpu:
        variables |= {
            "OMP_NUM_THREADS": str(threads),
            "VERL_PLATFORM": "cpu",
            "VERL_USE_EXTERNAL_MODULES": "pipeline.train.verl.cpu_plugin",
        }
    return variables


class _Saved:
    """Says whether a line tells of a checkpoint that is newer than all before it."""

    def __init__(self) -> None:
        self.last = 0

    def __call__(self, line: str) -> bool:
        step = int(line.removeprefix(SAVED)) if line.startswith(SAVED) else 0
        is_newer, self.last = step > self.last, max(step, self.last)
        return is_newer


class _Progress:
    """Says whether a line is progress: every line until the first step, then steps and remarks.

    verl can hang and go on to print; before its first step it says little else than what it does.
    """

    def __init__(self) -> None:
        self._training = False

    def __call__(self, line: str) -> bool:
        if line.startswith("cluster: "):
            self._training = False  # a new attempt starts from its last checkpoint
        if line.startswith(STEP):
            self._training = True
        return not self._training or line.startswith((STEP, NOTE))
