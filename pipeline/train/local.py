"""The local trainer: rollout, reward, update, validate, in one process.

A run is a pure function of (base model, data, recipe, algorithm, seed, thread count): every random
draw comes from (seed, purpose, step), so a killed run that goes on from its last checkpoint ends in
the same bytes as one that was not killed.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.config.training import Train
from pipeline.files import remove
from pipeline.model.decode import Sampling
from pipeline.model.weights import weights_of
from pipeline.train import checkpoint as checkpoints
from pipeline.train.checkpoint import Checkpoint
from pipeline.train.checks import check_fit, refuse_batch
from pipeline.train.collapse import Collapse, collapse_at_end, find_collapse
from pipeline.train.critic import make_critic
from pipeline.train.data import Row, batches
from pipeline.train.device import choose_device, peak_memory
from pipeline.train.learner import Learner, NotFinite
from pipeline.train.metrics import step_metrics
from pipeline.train.probe import Probe, greedy_accuracy
from pipeline.train.rollout import Rollouts, imitate, roll_out
from pipeline.train.update import update

log = logging.getLogger(__name__)

_PATIENCE_SECONDS = 5.0
"""How long a step that has begun to change the weights may still take once a stop is asked for."""


@dataclass(frozen=True)
class StepReport:
    """What one step did: deterministic metrics, and how long it took.

    ``collapse`` is set at the one step at which the collapse alarm fires.
    """

    step: int
    total: int
    metrics: dict[str, Any]
    timing: dict[str, float]
    at: float
    collapse: Collapse | None = None


@dataclass(frozen=True)
class TrainingResult:
    """Metrics of all steps, the steps whose weights were kept, and the collapse if there was one.

    ``last_step`` lies before the planned one where training stopped early.
    """

    metrics: list[dict[str, Any]]
    timing: list[dict[str, Any]]
    best_step: int
    best_accuracy: float
    last_step: int
    collapse: Collapse | None = None


class Interrupted(KeyboardInterrupt):
    """The run was asked to stop; its state was written first, running again goes on from there."""


class _Leave(Exception):
    """Leaves a step from inside a forward pass."""


@dataclass
class LocalTrainer:
    """Trains ``policy`` in place.

    Attributes:
        policy: The model to train.
        reference: A frozen copy of the base model.
        tokenizer: Its tokenizer.
        train: Training prompts.
        validation: Validation prompts.
        recipe: The training recipe.
        algorithm: Name of the algorithm.
        seed: Seed of data order and rollouts.
        work: Folder of the resumable state.
        report: Called after every step.
        should_stop: Asked before every forward pass and after every step; if true, the run saves
            its last finished step and raises Interrupted. A step that has begun to change the
            weights is given some seconds to end; after them the last checkpoint stands.
        probe: Called on the base model, at the end of every epoch and at the last step; its figures
            join the metrics of that step as ``probe/NAME``.
    """

    policy: PreTrainedModel
    reference: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    train: Sequence[Row]
    validation: Sequence[Row]
    recipe: Train
    algorithm: str
    seed: int
    work: Path
    report: Callable[[StepReport], None] = lambda _: None
    should_stop: Callable[[], bool] = lambda: False
    probe: Probe | None = None
    metrics: list[dict[str, Any]] = field(default_factory=list)
    timing: list[dict[str, Any]] = field(default_factory=list)

    def run(self) -> TrainingResult:
        """Train from the last checkpoint, or from the start, to the planned last step.

        Raises:
            Interrupted: If ``should_stop`` said so; running again goes on from there.
            UserError: If data, model and recipe do not fit together, or a reward, loss or gradient
                is not a finite number.
            OSError: If a checkpoint cannot be written; the one before stays.
        """
        check_fit(self.policy, self.tokenizer, self.train, self.validation, self.recipe)
        self._prepare()
        total = self.recipe.total_steps(len(self.train))
        done = self._restore(total)
        watch = self.policy.register_forward_pre_hook(self._leave_if_asked)
        try:
            self._train(done, total)
        except _Leave:
            if not self._changing:
                self._save()
            raise self._interrupted(total) from None
        finally:
            watch.remove()
        best = _best(self.metrics)
        return TrainingResult(
            self.metrics,
            self.timing,
            best["step"],
            best["validation_accuracy"],
            self.metrics[-1]["step"],
            self._collapse,
        )

    def _prepare(self) -> None:
        recipe, device = self.recipe, choose_device(self.recipe.device)
        self.policy.to(device)  # type: ignore[arg-type]
        self.reference.to(device)  # type: ignore[arg-type]
        if recipe.gradient_checkpointing:
            self.policy.gradient_checkpointing_enable()
        self._policy = Learner.of(self.policy, recipe.learning_rate)
        self._critic = None
        if self.algorithm == "ppo":
            rate = recipe.value_learning_rate or recipe.learning_rate
            self._critic = Learner.of(make_critic(self.reference), rate)
        self._changing = False  # whether the weights have left the last finished step
        self._asked: float | None = None  # when a stop was first asked for
        self._policy.optimizer.register_step_pre_hook(self._mark_changing)
        self._saved = 0
        self._collapse: Collapse | None = None

    def _mark_changing(self, *_: object) -> None:
        self._changing = True

    def _leave_if_asked(self, *_: object) -> None:
        """Leave the step; one that has begun to change the weights may end first if it is quick."""
        if not self.should_stop():
            return
        now = time.monotonic()
        self._asked = now if self._asked is None else self._asked
        if not self._changing or now - self._asked > _PATIENCE_SECONDS:
            raise _Leave

    def _train(self, done: int, total: int) -> None:
        if not self.metrics:
            self._start(total)
        elif done and self._unfinished(total):
            self._finish(total)
        stream = batches(self.train, self.recipe.prompts_per_step, self.seed)
        for _ in range(done):
            next(stream)
        for step in range(done + 1, total + 1):
            if self._exhausted():
                return
            self._step(step, next(stream))
            self._finish(total)
            stopping = self.should_stop()
            last = step == total or self._exhausted()
            if last or stopping or step % self.recipe.save_every == 0:
                self._save()
            if stopping and not last:
                raise self._interrupted(total)

    def _interrupted(self, total: int) -> Interrupted:
        return Interrupted(f"stopped after step {self._saved} of {total}; run again to go on")

    def _start(self, total: int) -> None:
        """Measure the base model, as step 0."""
        row = {"step": 0, "validation_accuracy": self._accuracy(), **self._probed(0, total)}
        self.metrics.append(row)
        self.timing.append({"step": 0, "at": time.time()})
        self.report(StepReport(0, total, row, {}, self.timing[-1]["at"]))

    def _step(self, step: int, rows: list[Row]) -> None:
        """Improve the policy on one batch and note how it went."""
        started = time.perf_counter()
        rollouts = self._rollouts(step, rows)
        rolled = time.perf_counter()
        self.policy.train()
        try:
            statistics = update(
                self._policy, self.reference, self._critic, rollouts, self.recipe, self.algorithm
            )
        except NotFinite as error:
            raise refuse_batch(self.work, step, str(error), rollouts) from error
        updated = time.perf_counter()
        metrics = step_metrics(rollouts, statistics)
        self.metrics.append({"step": step, **metrics, "learning_rate": self.recipe.learning_rate})
        self._changing = False
        tokens = sum(len(c.tokens) for c in rollouts.completions)
        timing = {
            "seconds": updated - started,
            "rollout_seconds": rolled - started - rollouts.reward_seconds,
            "reward_seconds": rollouts.reward_seconds,
            "update_seconds": updated - rolled,
            "tokens_per_second": tokens / (updated - started),
            "peak_memory_bytes": peak_memory(self.policy.device),
        }
        self.timing.append({"step": step, "at": time.time(), **timing})

    def _rollouts(self, step: int, rows: list[Row]) -> Rollouts:
        recipe = self.recipe
        if self.algorithm == "sft":
            return imitate(self.tokenizer, rows, recipe)
        self.policy.eval()
        rollouts = roll_out(
            self.policy,
            self.tokenizer,
            rows,
            Sampling(recipe.max_new_tokens, recipe.temperature, recipe.top_p),
            recipe,
            group=recipe.rollouts,
            stream=(self.seed, step),
        )
        if not all(math.isfinite(r.score) for r in rollouts.rewards):
            raise refuse_batch(self.work, step, "a reward is not a finite number", rollouts)
        return rollouts

    def _finish(self, total: int) -> None:
        """Validate and probe the step just done where they are due, and report it."""
        started = time.perf_counter()
        row, timing = self.metrics[-1], self.timing[-1]
        step = row["step"]
        found = {"validation_accuracy": self._accuracy()} if self._validates(step, total) else {}
        row |= {**found, **self._probed(step, total)}
        if found and _best(self.metrics)["step"] == step:
            self._keep_best()
        timing["validation_seconds"] = time.perf_counter() - started
        alarm = None
        if self._collapse is None:
            self._collapse = alarm = collapse_at_end(self.metrics)
        if alarm is not None:
            log.warning("%s", alarm.describe())
        seconds = {k: v for k, v in timing.items() if k not in ("step", "at")}
        self.report(StepReport(step, total, row, seconds, timing["at"], alarm))

    def _unfinished(self, total: int) -> bool:
        """Return whether the run was stopped between the last step and its validation."""
        row = self.metrics[-1]
        validated = "validation_accuracy" in row or not self._validates(row["step"], total)
        probed = any(k.startswith("probe/") for k in row) or not self._probes(row["step"], total)
        return not (validated and probed)

    def _validates(self, step: int, total: int) -> bool:
        return step % self.recipe.validate_every == 0 or step == total

    def _probes(self, step: int, total: int) -> bool:
        """Return whether a probe is due: on the base model, after every epoch, at the last step."""
        size, rows = self.recipe.prompts_per_step, len(self.train)
        ends_epoch = step * size // rows > (step - 1) * size // rows
        return self.probe is not None and (step in (0, total) or ends_epoch)

    def _probed(self, step: int, total: int) -> dict[str, float]:
        if self.probe is None or not self._probes(step, total):
            return {}
        self.policy.eval()
        return {f"probe/{name}": value for name, value in self.probe(self.policy).items()}

    def _accuracy(self) -> float:
        """Return the greedy accuracy on the validation prompts."""
        self.policy.eval()
        return greedy_accuracy(self.policy, self.tokenizer, self.validation, self.recipe)

    def _exhausted(self) -> bool:
        """Return whether early stopping ends the run after the steps done so far."""
        validated = _validated(self.metrics)
        if self.recipe.early_stop_patience is None or not validated:
            return False
        best = _best(self.metrics)["step"]
        later = [m for m in validated if m["step"] > best]
        return len(later) >= self.recipe.early_stop_patience

    def _keep_best(self) -> None:
        folder = self.work / "best"
        step = self.metrics[-1]["step"]
        checkpoints.save(folder, Checkpoint(step, weights_of(self.policy), {}), keep=2)

    def best_weights(self) -> dict[str, torch.Tensor]:
        """Return the weights of the best step."""
        best = _best(self.metrics)["step"]
        found = checkpoints.load_step(self.work / "best", best)
        return found.tensors

    def _save(self) -> None:
        """Write the state after the last finished step, unless it is there already."""
        step = self.metrics[-1]["step"] if self.metrics else 0
        if step == self._saved:
            return
        tensors = self._policy.tensors("")
        if self._critic is not None:
            tensors |= self._critic.tensors("critic.")
        state = {"metrics": self.metrics, "timing": self.timing}
        checkpoints.save(self.work / "state", Checkpoint(step, tensors, state))
        self._saved = step

    def _restore(self, total: int) -> int:
        found = checkpoints.load_latest(self.work / "state")
        if found is None or not self._has_best(found.state["metrics"]):
            for name in ("state", "best"):
                remove(self.work / name)
            return 0
        self._policy.load(found.tensors, "")
        if self._critic is not None:
            self._critic.load(found.tensors, "critic.")
        self.metrics[:] = found.state["metrics"]
        self.timing[:] = found.state["timing"]
        # A step that was not finished has not been reported, nor an alarm at it.
        reported = self.metrics[:-1] if found.step and self._unfinished(total) else self.metrics
        self._collapse = find_collapse(reported)
        self._saved = found.step
        return found.step

    def _has_best(self, metrics: list[dict[str, Any]]) -> bool:
        """Return whether the weights of the best step so far are there and whole, if needed."""
        if not _validated(metrics):
            return True
        step = _best(metrics)["step"]
        try:
            checkpoints.load_step(self.work / "best", step)
        except checkpoints.DAMAGE as error:
            if checkpoints.newest_step(self.work / "best") > step:
                return True  # a better one came later, and will come again
            log.warning("best checkpoint of step %s is damaged (%s): starting again", step, error)
            return False
        return True


def _validated(metrics: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the metrics of the validated steps; step 0 is the base model and not one."""
    return [m for m in metrics if m["step"] > 0 and "validation_accuracy" in m]


def _best(metrics: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the metrics of the best validated step; the earliest wins a tie."""
    return max(_validated(metrics), key=lambda m: (m["validation_accuracy"], -m["step"]))
