"""What a step learns from: completions of the policy's own, or given ones, and what they earn."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.config.algorithms import Algorithm, Rft, Sft
from pipeline.config.training import Train
from pipeline.engine.decode import Completion
from pipeline.engine.recording import Recording
from pipeline.engine.sampling import Sampling
from pipeline.formats.records import Figures
from pipeline.train.data import TokenisedRow
from pipeline.train.dynamic_sampling import draw
from pipeline.train.rollout import Judge, Rollouts, imitate, sample


@dataclass(frozen=True)
class Experience:
    """The rollouts of a step.

    Attributes:
        rollouts: Prompts with their completions and rewards.
        taught: Those of them that are learned from; none where all were rejected.
        metrics: What drawing more than the step's prompts took, where that is asked for, and how
            many completions are kept, where some are rejected.
        sampling_seconds: Spent on completions.
        reward_seconds: Spent on rewards.
    """

    rollouts: Rollouts
    taught: Rollouts
    metrics: Figures
    sampling_seconds: float
    reward_seconds: float


@dataclass
class ExperienceSource:
    """Where the experience of a run comes from.

    Attributes:
        policy: The policy.
        tokenizer: Its tokenizer.
        judge: Rewards completions.
        recipe: The training recipe.
        algorithm: The algorithm.
        seed: Of the random numbers.
        recording: Of the passes that write completions on an accelerator.
    """

    policy: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    judge: Judge
    recipe: Train
    algorithm: Algorithm
    seed: int
    recording: Recording = field(default_factory=Recording)
    _sampled: float = field(default=0.0, init=False)
    _rewarded: float = field(default=0.0, init=False)

    def of(
        self, step: int, rows: list[TokenisedRow], more: Iterator[list[TokenisedRow]]
    ) -> Experience:
        """The experience of a step.

        Args:
            step: The step.
            rows: Its prompts.
            more: The prompts after them, as many each time; taken where others are drawn.
        """
        self._sampled = self._rewarded = 0.0
        dynamic = self.recipe.dynamic_sampling
        metrics: Figures = {}
        if dynamic is None:
            rollouts = self._rollouts((step,), rows)
        else:
            drawn = enumerate(chain([rows], more))
            each = (self._rollouts((step, n) if n else (step,), rows) for n, rows in drawn)
            found = draw(each, dynamic.draws)
            rollouts, metrics = found.rollouts, found.metrics()
        taught = rollouts
        if isinstance(self.algorithm, Rft):
            taught = rollouts.right()
            metrics = {"kept": len(taught.completions)}
        return Experience(rollouts, taught, metrics, self._sampled, self._rewarded)

    def _rollouts(self, which: tuple[int, ...], rows: Sequence[TokenisedRow]) -> Rollouts:
        """The completions of prompts with their rewards.

        Args:
            which: The step, and the number of the draw where it is not the step's first.
            rows: The prompts.
        """
        started = time.perf_counter()
        completions = self._completions(which, rows)
        sampled = time.perf_counter()
        rollouts = self.judge(rows, completions, ":".join(map(str, (self.seed, *which))))
        self._sampled += sampled - started
        self._rewarded += time.perf_counter() - sampled
        return rollouts

    def _completions(
        self, which: tuple[int, ...], rows: Sequence[TokenisedRow]
    ) -> list[Completion]:
        if isinstance(self.algorithm, Sft):
            return imitate(self.tokenizer, rows, self.algorithm.imitates)
        recipe = self.recipe
        self.policy.eval()
        return sample(
            self.policy,
            self.tokenizer,
            rows,
            Sampling(recipe.max_new_tokens, recipe.temperature, recipe.top_p),
            group=recipe.rollouts,
            stream=(self.seed, *which),
            precision=recipe.precision,
            recording=self.recording,
        )
