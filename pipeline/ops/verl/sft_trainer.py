"""verl's trainer for imitation, with what the run contract asks of it beside a loss.

``python -m pipeline.ops.verl.sft_trainer OVERRIDES`` runs in place of
``verl.trainer.sft_trainer_ray``, whose training loop it is. That loop has no place for a
measurement, so that it is given three parts of its own: processes that also answer prompts
(:mod:`pipeline.ops.verl.sft_worker`), a log in which a step stands with what was measured of it,
and checkpoints with log-probabilities to verify them by, as those of RL have.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import hydra
import ray
import torch
from torchdata.stateful_dataloader import StatefulDataLoader  # type: ignore[import-untyped]
from transformers import PreTrainedTokenizerBase
from verl.trainer import sft_trainer_ray
from verl.utils import tensordict_utils
from verl.utils.device import auto_set_device
from verl.utils.tracking import Tracking

from pipeline.config.training import Train
from pipeline.formats.files import read_json, write_json
from pipeline.formats.records import Figures
from pipeline.ops.cluster.job_lines import SPEC
from pipeline.ops.verl.collect import BATCH_PREFIX
from pipeline.ops.verl.layout import PROBE, UNLOGGED, State
from pipeline.ops.verl.sft_data import ROW
from pipeline.ops.verl.sft_worker import ENTROPY, MeasuringWorker, SftQuestions, imitation_loss
from pipeline.ops.verl.spec import JobSpec
from pipeline.reward.presets import preset_of
from pipeline.train.data import TokenisedRow, load_rows
from pipeline.train.local import imitation_metrics
from pipeline.train.probe import load_probe
from pipeline.train.rollout import Judge
from pipeline.train.schedule import Schedule
from pipeline.train.update import UpdateStatistics

_VALIDATION = "validation_accuracy"
_MEMORY = ("perf/max_memory_allocated_gb", "perf/max_memory_reserved_gb")


class Batches(StatefulDataLoader):  # type: ignore[misc]
    """verl's batches; says which rows the last one has, and when it was taken.

    A state that was saved at the end of a pass has none left. verl would take that for the whole
    of the next pass, and end before its last step; here the next pass follows.
    """

    rows: list[int]
    taken: float

    def __iter__(self) -> Iterator[dict[str, Any]]:
        is_empty = True
        while is_empty:
            for batch in super().__iter__():
                is_empty = False
                self.rows, self.taken = batch.pop(ROW).values().tolist(), time.perf_counter()
                yield batch


class SftTrainer(sft_trainer_ray.SFTTrainer):  # type: ignore[misc]
    """verl's trainer for imitation, which measures accuracy and knows the seed of its cell."""

    _step: tuple[int, Figures]  # the last one, to be logged

    def __init__(self, config: Any) -> None:
        folder = Path(config.tomrl.folder)
        spec = JobSpec.read(folder / SPEC, "train")
        self._recipe, self._seed = spec.cell.train, spec.cell.seed
        super().__init__(config)
        tokenizer = self.model_config.tokenizer
        self._judge = Judge(tokenizer, preset_of(self._recipe.reward), self._recipe.think)
        self._schedule = Schedule.of(self._recipe, len(self.train_dataset))
        self._validation, self._probe = read_questions(folder, tokenizer, self._recipe)

    def _build_dataloader(self) -> None:
        super()._build_dataloader()
        # verl shuffles by the seed 0 in every run, and asks for eight processes to read rows with.
        self.train_sampler.seed = self._seed
        self.train_dataloader = Batches(
            dataset=self.train_dataset,
            batch_size=self.train_batch_size_per_dp,
            sampler=self.train_sampler,
            collate_fn=self.collate_fn,
            drop_last=True,
        )

    def _build_engine(self) -> None:
        sft_trainer_ray.TrainingWorker = MeasuringWorker
        super()._build_engine()
        self.training_client.set_loss_fn(imitation_loss)

    def _build_ckpt_handler(self) -> None:
        super()._build_ckpt_handler()
        save = self.ckpt_handler.save_checkpoint

        def save_whole(step: int) -> None:
            save(step=step)
            self._complete(step)

        self.ckpt_handler.save_checkpoint = save_whole

    def _complete(self, step: int) -> None:
        """Write beside a step's shards what it is verified by, then log it.

        Its figures stand in the checkpoint, too: a run that is killed in between goes on from it.
        """
        folder, (_, figures) = self._checkpoint(step), self._step
        logprobs = self._logprobs(read_json(folder.parent / PROBE))
        write_json(folder / UNLOGGED, figures)
        State.complete(folder, logprobs)
        self._write()

    def _checkpoint(self, step: int) -> Path:
        return Path(self.config.trainer.default_local_dir) / f"global_step_{step}"

    def fit(self) -> None:
        """Train to the last step."""
        sft_trainer_ray.Tracking = self._open_log
        super().fit()

    def _open_log(self, **settings: object) -> SftTrainer:
        """Open verl's log, with the step to go on from in it; return what the loop logs to."""
        self._log = Tracking(**settings)
        done = self.resume_global_step
        figures = read_json(self._checkpoint(done) / UNLOGGED) if done else self._measured(0)
        self._step = done, figures
        self._write()
        return self

    def log(self, data: dict[str, Any], step: int) -> None:
        """Take what the loop says of a step, measure it, and log all of it.

        A step that is saved is logged once its checkpoint is whole, as verl does in RL.
        """
        self._step = step, {**self._trained(data, step), **self._measured(step)}
        if step % self.save_freq == 0 or step >= self.total_training_steps:
            return  # verl's loop saves it next
        self._write()

    def _write(self) -> None:
        step, figures = self._step
        self._log.log(data=figures, step=step)

    def _trained(self, data: dict[str, Any], step: int) -> Figures:
        """The local trainer's metrics of a batch, and how long it took."""
        batch, seconds = self.train_dataloader, time.perf_counter() - self.train_dataloader.taken
        rows = [self.train_dataset.rows[index] for index in batch.rows]
        responses = [self.train_dataset.responses[index] for index in batch.rows]
        rollouts = self._judge(rows, responses, f"{self._seed}:{step}")
        statistics = UpdateStatistics(
            loss=data["train/loss"],
            kl=0.0,
            entropy=_total(data[ENTROPY]),
            clip_share=0.0,
            advantage_std=0.0,
            gradient_norm=data["train/grad_norm"],
        )
        metrics = {**imitation_metrics(rollouts, statistics), "learning_rate": data["train/lr"]}
        return {
            **{f"{BATCH_PREFIX}{name}": value for name, value in metrics.items()},
            "timing_s/step": seconds,
            "timing_s/update_actor": seconds,
            "perf/throughput": rollouts.tokens / seconds,
            "perf/mfu/actor": data["train/mfu"],
            **{f"actor/{name}": data[name] for name in _MEMORY},
        }

    def _measured(self, step: int) -> Figures:
        """The greedy accuracies that are due after a step."""
        sets = dict(self._validation) if self._schedule.validates(step) else {}
        sets |= self._probe if self._schedule.probes(step) else {}
        if not sets:
            return {}
        started = time.perf_counter()
        asked = SftQuestions(self.config.model.path, self._recipe, sets)
        counts = self.training_client.count_right(asked)
        right = {name: sum(each[name] for each in counts) for name in sets}
        return {
            **{f"{BATCH_PREFIX}{name}": right[name] / len(rows) for name, rows in sets.items()},
            "timing_s/testing": time.perf_counter() - started,
        }

    def _logprobs(self, sequences: Sequence[dict[str, list[int]]]) -> list[list[float]]:
        """The log-probabilities that the trainer gives to the tokens of each response."""
        ranks = self.training_client.world_size
        count = -(-len(sequences) // ranks) * ranks  # each rank must get as many
        rows = [sequences[index % len(sequences)] for index in range(count)]
        ids = [torch.tensor([*row["prompt"], *row["response"]]) for row in rows]
        data = tensordict_utils.get_tensordict(
            {
                "input_ids": _nested(ids),
                "position_ids": _nested([torch.arange(len(each)) for each in ids]),
                "loss_mask": _nested([torch.ones_like(each) for each in ids]),
            },
            {
                "compute_loss": False,
                "use_remove_padding": self.config.model.use_remove_padding,
                "use_dynamic_bsz": False,
                "micro_batch_size_per_gpu": 1,
                "temperature": 1.0,
                "pad_mode": self.config.data.pad_mode,
                "pad_token_id": self.model_config.tokenizer.pad_token_id,
            },
        )
        found = self.training_client.infer_batch(data).get()["log_probs"].unbind()
        # The log-probability of a token stands in the place of the one before it.
        return [
            logprobs[len(row["prompt"]) - 1 : -1].float().tolist()
            for row, logprobs in zip(sequences, found, strict=False)
        ]


def read_questions(
    folder: Path, tokenizer: PreTrainedTokenizerBase, recipe: Train
) -> tuple[dict[str, tuple[TokenisedRow, ...]], dict[str, tuple[TokenisedRow, ...]]]:
    """The validation prompts and those of the probe, by the names of their accuracies."""
    limit, path = recipe.max_prompt_tokens, folder / "validation.parquet"
    validation = load_rows(path, tokenizer, limit, think=recipe.think).rows
    probe = load_probe(folder, tokenizer, recipe)
    sets = {} if probe is None else probe.sets
    return {_VALIDATION: validation}, {f"probe/{name}": tuple(rows) for name, rows in sets.items()}


def _nested(rows: Sequence[torch.Tensor]) -> torch.Tensor:
    return torch.nested.as_nested_tensor(list(rows), layout=torch.jagged)


def _total(parts: Any) -> float:
    """The sum of all micro-batches of all processes."""
    return sum(map(_total, parts)) if isinstance(parts, list) else float(parts)


@hydra.main(
    config_path="pkg://verl.trainer.config", config_name="sft_trainer_engine", version_base=None
)
def main(config: Any) -> None:
    """Train as the configuration says."""
    auto_set_device(config)
    ray.init()
    SftTrainer(config).fit()


if __name__ == "__main__":
    main()
