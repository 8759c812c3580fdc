"""The local trainer: rollout, reward, advantages, update, validate, in one process.

A run is a pure function of (base model, data, recipe, algorithm, seed, thread count): every random
draw comes from (seed, purpose, step), so a killed and resumed run ends in the same bytes as any
other.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.config.algorithms import Algorithm
from pipeline.config.training import Train
from pipeline.engine.device import cast_linear, choose_device, hand_back_memory, peak_memory
from pipeline.formats.records import Figures
from pipeline.reward.presets import preset_of
from pipeline.train.accuracy import GreedyAccuracy
from pipeline.train.checks import check_answers, check_fit
from pipeline.train.contract import History, Step
from pipeline.train.critic import make_critic
from pipeline.train.data import TokenisedRow, batches
from pipeline.train.experience import ExperienceSource
from pipeline.train.kept import KeptSteps
from pipeline.train.kept_rollouts import RolloutLog, kept_of
from pipeline.train.learner import Learner
from pipeline.train.lora import LoraLearner
from pipeline.train.metrics import batch_metrics, exceptional_metrics
from pipeline.train.refusal import refusing
from pipeline.train.rollout import Judge, Rollouts
from pipeline.train.schedule import Schedule
from pipeline.train.state import RunState
from pipeline.train.stopping import Interrupted, Leave, Stopping
from pipeline.train.update import Updater, UpdateStatistics

_STEPS_WITH_KEPT_MEMORY = 10


@dataclass
class LocalTrainer:
    """Trains ``policy`` in place.

    Attributes:
        seed: Seed of data order and rollouts.
        work: Folder of the resumable state.
        report: Called after every step with the history up to it.
        should_stop: Polled before every forward pass and after every step; if true, the run saves
            its last finished step and raises Interrupted. A step that has begun to change the
            weights has some seconds to end; after them the last checkpoint stands.
        kept: Keeps the weights of every scheduled checkpoint, on request.
        history: The steps so far.
    """

    policy: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    train: Sequence[TokenisedRow]
    validation: Sequence[TokenisedRow]
    recipe: Train
    algorithm: Algorithm
    seed: int
    work: Path
    report: Callable[[History], None] = lambda _: None
    should_stop: Callable[[], bool] = lambda: False
    kept: KeptSteps | None = None
    history: History = field(default_factory=History)

    def run(self) -> History:
        """Train from the last checkpoint, or from the start, to the last step.

        Raises:
            Interrupted: If ``should_stop`` is true; running again resumes.
            UserError: If data, model and recipe do not fit together, or a reward, loss or gradient
                is not finite.
            OSError: If a checkpoint cannot be written; the one before stays.
        """
        check_fit(self.policy.config, self.tokenizer, self.train, self.validation, self.recipe)
        self._prepare()
        self.history = self._state.restore(self._fitted)
        self._rollouts.keep_until(self.history.last.step if self.history.steps else 0)
        with self._stopping:
            try:
                self._train()
            except Leave:
                if not self._stopping.changing:
                    self._save()
                raise self._interrupted() from None
        return self.history

    def kept_steps(self) -> list[int]:
        return [] if self.kept is None else self._schedule.keeps(self.history.last.step)

    def _fitted(self, history: History) -> History:
        """A history that this run can resume; empty if kept weights or rollouts are missing."""
        found = self._schedule.of_this_length(history)
        if found.steps and self.algorithm.samples and self._rollouts.last < found.last.step:
            return History()
        if self.kept is None or not found.steps:
            return found
        before = self._schedule.keeps(found.last.step)[:-1]  # the last one is kept again
        return found if self.kept.has(before) else History()

    @property
    def saved(self) -> int:
        return self._state.saved

    def weights(self) -> dict[str, Tensor]:
        return self._updater.policy.stored()

    def best_weights(self) -> dict[str, Tensor]:
        return self._state.best_weights(self.history)

    def _prepare(self) -> None:
        recipe, device = self.recipe, choose_device(self.recipe.device)
        # Both are made of what the policy is before it learns.
        critic, reference = self._critic(device), self._reference(device)
        if recipe.gradient_checkpointing:
            self.policy.gradient_checkpointing_enable()
        policy = self._learner(device, reference)
        learners = {"": policy} if critic is None else {"": policy, "critic.": critic}
        self._updater = Updater(recipe, self.algorithm, policy, reference, critic)
        self._schedule = Schedule.of(recipe, len(self.train))
        judge = Judge(self.tokenizer, preset_of(recipe.reward), recipe.think)
        self._source = ExperienceSource(
            self.policy, self.tokenizer, judge, recipe, self.algorithm, self.seed
        )
        self._accuracy = GreedyAccuracy(
            judge, recipe.max_new_tokens, recipe.precision, self._source.recording
        )
        self._state = RunState(self.work, learners)
        self._rollouts = RolloutLog(self.work)
        self._stopping = Stopping(self.policy, policy.optimizer, self.should_stop)

    def _reference(self, device: torch.device) -> PreTrainedModel | None:
        """A frozen copy of the current policy, if needed."""
        if not self.recipe.holds_reference(self.algorithm):
            return None
        reference = copy.deepcopy(self.policy).requires_grad_(False)
        # Cast before it is moved: a device need not hold all of it in float32.
        cast_linear(reference, self.recipe.precision)
        reference.to(device)  # type: ignore[arg-type]
        return reference

    def _learner(self, device: torch.device, reference: PreTrainedModel | None) -> Learner:
        model, rate, lora = self.policy, self.recipe.learning_rate, self.recipe.lora
        if lora is None:
            model.to(device)  # type: ignore[arg-type]
            return Learner.of(model, rate)
        assert reference is not None
        learner = LoraLearner.with_adapters(model, reference, lora, rate, self.seed)
        model.to(device)  # type: ignore[arg-type]
        return learner

    def _critic(self, device: torch.device) -> Learner | None:
        settings = self.algorithm.critic
        if settings is None:
            return None
        rate = settings.learning_rate or self.recipe.learning_rate
        critic = make_critic(self.policy)
        critic.to(device)  # type: ignore[arg-type]
        return Learner.of(critic, rate)

    def _train(self) -> None:
        if not self.history.steps:
            self._add(Step(step=0, metrics={}, timing={}, at=time.time()))
        if self._is_unfinished():
            self._finish()
        self._keep_if_due()
        for step, rows in self._batches():
            started = time.perf_counter()
            experience = self._source.of(step, rows)
            rollouts = experience.rollouts
            with refusing(self.work, step, rollouts):
                judged = time.perf_counter()
                statistics = self._learn(step, experience.taught)
            updated = time.perf_counter()
            timing: Figures = {
                "seconds": updated - started,
                "rollout_seconds": experience.sampling_seconds,
                "reward_seconds": experience.reward_seconds,
                "update_seconds": updated - judged,
                "tokens_per_second": rollouts.tokens / (updated - started),
                "peak_memory_bytes": peak_memory(self.policy.device),
            }
            metrics = self._metrics(step, rollouts, statistics) | experience.metrics
            if self.algorithm.samples:
                self._rollouts.add(kept_of(step, rollouts))
            self._add(Step(step=step, metrics=metrics, timing=timing, at=time.time()))
            self._stopping.step_done()
            if step % _STEPS_WITH_KEPT_MEMORY == 0:
                hand_back_memory()
            self._finish()
            self._keep_if_due()
            self._save_if_due(step)

    def _batches(self) -> Iterator[tuple[int, list[TokenisedRow]]]:
        stream = batches(self.train, self.recipe.prompts_per_step, self.seed)
        yield from islice(enumerate(stream, 1), self.history.last.step, self._schedule.total)

    def _learn(self, step: int, taught: Rollouts) -> UpdateStatistics | None:
        self._updater.policy.set_rate(self._schedule.learning_rate(step))
        if not taught.completions:
            return None
        self.policy.train()
        return self._updater.update(self._updater.prepare(taught))  # with the advantages

    def _metrics(
        self, step: int, rollouts: Rollouts, statistics: UpdateStatistics | None
    ) -> Figures:
        measure = step_metrics if self.algorithm.samples else imitation_metrics
        return measure(rollouts, statistics) | {"learning_rate": self._schedule.learning_rate(step)}

    def _add(self, step: Step) -> None:
        self.history = self.history.adding(step)

    def _is_unfinished(self) -> bool:
        """The validation of the last step is missing."""
        last = self.history.last
        return self._schedule.validates(last.step) and last.accuracy is None

    def _finish(self) -> None:
        """Validate the last step if due, and report it."""
        started, last = time.perf_counter(), self.history.last
        metrics = last.metrics | self._validated(last.step)
        timing = last.timing | {"validation_seconds": time.perf_counter() - started}
        self._add(last.model_copy(update={"metrics": metrics, "timing": timing}))
        if self.history.best == self.history.last:
            self._state.keep_best(last.step, self.weights())
        self.report(self.history)

    def _validated(self, step: int) -> Figures:
        """Greedy accuracy on the validation prompts, if due."""
        if not self._schedule.validates(step):
            return {}
        self.policy.eval()
        found = self._accuracy(self.policy, self.validation)
        if step == 0:
            check_answers(found.count, len(self.validation), self.recipe, self.algorithm)
        return {"validation_accuracy": found.right}

    def _keep_if_due(self) -> None:
        step = self.history.last.step
        over = step == self._schedule.total
        if self.kept is not None and step and (over or self._schedule.saves(step)):
            self.kept.keep(step)

    def _save_if_due(self, step: int) -> None:
        """Write a checkpoint if due; raise Interrupted if a stop is asked for before the end."""
        stopping, over = self.should_stop(), step == self._schedule.total
        if over or stopping or self._schedule.saves(step):
            self._save()
        if stopping and not over:
            raise self._interrupted()

    def _save(self) -> None:
        self._rollouts.sync()
        self._state.save(self.history)

    def _interrupted(self) -> Interrupted:
        done, total = self._state.saved, self._schedule.total
        return Interrupted(f"stopped after step {done} of {total}; run again to go on")


_OF_IMITATION = ("loss", "entropy", "gradient_norm", "length_mean", "length_median", "length_p95")
"""The metrics of given responses, which have no rewards."""


def imitation_metrics(rollouts: Rollouts, statistics: UpdateStatistics | None) -> Figures:
    """The metrics of a step of imitation; lengths are those of the targets, in tokens."""
    found = step_metrics(rollouts, statistics)
    return {name: found[name] for name in _OF_IMITATION}


def step_metrics(rollouts: Rollouts, statistics: UpdateStatistics | None) -> Figures:
    """The metrics of a step; lengths in tokens. Without an update, those of sampling."""
    group, rewards = rollouts.group, [reward.figures() for reward in rollouts.rewards]
    scores = [reward.score for reward in rollouts.rewards]
    responses = [tuple(completion.tokens) for completion in rollouts.completions]
    starts = range(0, len(scores), group)
    measured = batch_metrics(
        groups=[scores[start : start + group] for start in starts],
        responses=[responses[start : start + group] for start in starts],
        lengths=[len(completion.tokens) for completion in rollouts.completions],
        finished=[completion.finished for completion in rollouts.completions],
        rewards=rewards,
    )
    updated = {} if statistics is None else statistics.metrics()
    return {**measured, **updated, **exceptional_metrics(rewards)}
