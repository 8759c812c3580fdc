"""The probe of RL through verl: accuracy on each column, at the local trainer's steps.

verl validates on one set of prompts, at steps of its own. So two of its trainer's own calls are
wrapped: the validation before the first step, which is made on the base model (and after a resume
where that of the step was not logged), and the one that gathers the figures of a step just before
they are logged. There what samples has the weights after the step and is awake until the next step
has sampled, so that a probe costs what it decodes and no exchange of weights.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from verl.trainer.ppo.utils import create_rl_dataset
from verl.utils.dataset.rl_dataset import collate_fn

from pipeline.formats.records import Figures
from pipeline.ops.cluster.job_lines import SPEC
from pipeline.ops.verl.collect import BATCH_PREFIX
from pipeline.ops.verl.spec import JobSpec
from pipeline.train.schedule import Schedule

Prompts = list[dict[str, Any]]
"""Rows of a dataset, as verl reads them."""


def measure_probe(trainer: Any, folder: Path) -> None:
    """Have verl's trainer of RL measure a probe and log it with its other figures.

    Args:
        trainer: A ``PPOTrainer`` of verl 0.9.1.
        folder: The probe's columns, beside the description of the job.
    """
    probe = VerlProbe(trainer, folder)
    validate, gather = trainer._validate, trainer._compute_metrics

    first = [trainer.config.trainer.val_before_train]

    def validate_and_probe() -> Figures:
        figures: Figures = validate()
        is_first, first[0] = first[0], False
        step = trainer.global_steps
        due = is_first and (step == 0 or probe.is_due(step))
        return figures | (probe.figures() if due else {})

    def probe_and_gather(
        batch: Any, metrics: Figures, timing: Figures, global_steps: int, epoch: int
    ) -> None:
        if probe.is_due(global_steps):
            started = time.perf_counter()
            trainer.on_validate_begin()
            metrics.update(probe.figures())
            trainer.on_validate_end()
            timing["testing"] = timing.get("testing", 0.0) + time.perf_counter() - started
        gather(batch, metrics, timing, global_steps=global_steps, epoch=epoch)

    trainer._validate, trainer._compute_metrics = validate_and_probe, probe_and_gather


class VerlProbe:
    """Measures greedy accuracy on columns with what verl samples and grades with.

    Args:
        trainer: A ``PPOTrainer`` of verl 0.9.1.
        folder: The columns, beside the description of the job.
    """

    def __init__(self, trainer: Any, folder: Path) -> None:
        spec = JobSpec.read(folder.parent / SPEC, "train")
        self._trainer, self._folder = trainer, folder
        self._schedule = Schedule.of(spec.cell.train, spec.rows)

    def is_due(self, step: int) -> bool:
        """Whether the probe is due after a step."""
        return self._schedule.probes(step)

    def figures(self) -> Figures:
        """The accuracy on each column now, by its name in verl's log."""
        # All columns as one batch: what samples is best used by many prompts at once.
        asked = collate_fn([row for rows in self._columns.values() for row in rows])
        right = _validated(self._trainer, asked)
        sizes = {name: len(rows) for name, rows in self._columns.items()}
        return accuracies(sizes, asked["uid"], right)

    @cached_property
    def _columns(self) -> dict[str, Prompts]:
        """The prompts of each column that are not too long.

        Read at the first measurement: when this is made, the trainer has no tokenizer yet.
        """
        config, found = self._trainer.config.data, {}
        readers = self._trainer.tokenizer, self._trainer.processor
        for path in sorted(self._folder.glob("*.parquet")):
            rows = create_rl_dataset([str(path)], config, *readers, is_train=False)
            found[path.stem] = [rows[index] for index in range(len(rows))]
        return found


def _validated(trainer: Any, batch: dict[str, Any]) -> dict[str, float]:
    """1 for each prompt that the trainer finds answered rightly and 0 for others, by id.

    A copy of the trainer validates, on this batch instead, and writes nothing of it: the trainer's
    own validation stays what it is.

    Args:
        trainer: verl's trainer.
        batch: The prompts; receives their ids as ``uid``, in the same order.
    """
    other = copy.copy(trainer)
    other.val_dataloader = [batch]
    other._maybe_log_val_generations = other._dump_generations = _write_nothing
    other._val_metrics_update = _right_by_id
    right: dict[str, float] = type(trainer)._validate(other)
    return right


def _write_nothing(*_: object, **__: object) -> None:
    """Stand in for what writes completions."""


def _right_by_id(
    sources: Sequence[str],
    uids: Sequence[str],
    rewards: Mapping[str, Sequence[float]],
    *_: object,
    **__: object,
) -> dict[str, float]:
    """Stand in for what groups validation's figures by task: columns may share a task."""
    return dict(zip(uids, rewards["acc"], strict=True))


def accuracies(
    sizes: Mapping[str, int], uids: Sequence[str], right: Mapping[str, float | None]
) -> Figures:
    """The share of each column's prompts that are answered rightly, by verl's name of it.

    Args:
        sizes: Prompts of each column.
        uids: Ids of all prompts, column after column.
        right: 1 or 0 by id; a prompt whose answer failed has none, and counts as wrong, as in
            verl's validation.
    """
    found, start = {}, 0
    for name, size in sizes.items():
        answered = (right.get(uid) or 0.0 for uid in uids[start : start + size])
        found[f"{BATCH_PREFIX}probe/{name}"] = sum(answered) / size
        start += size
    return found
