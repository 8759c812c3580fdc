"""What a step learns from: completions of the policy's own, or given ones, and what they earn."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.config.algorithms import Algorithm, Rft, Sft
from pipeline.config.training import Train
from pipeline.engine.decode import Completion
from pipeline.engine.recording import Recording
from pipeline.engine.sampling import Sampling
from pipeline.formats.records import Figures
from pipeline.train.data import TokenisedRow
from pipeline.train.rollout import Judge, Rollouts, imitate, sample


@dataclass(frozen=True)
class Experience:
    """The rollouts of a step.

    Attributes:
        rollouts: Prompts with their completions and rewards.
        taught: Those of them that are learned from; none where all were rejected.
        metrics: How many completions are kept, where some are rejected.
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

    def of(self, step: int, rows: Sequence[TokenisedRow]) -> Experience:
        """The experience of a step on its prompts."""
        started = time.perf_counter()
        completions = self._completions(step, rows)
        sampled = time.perf_counter()
        rollouts = taught = self.judge(rows, completions, f"{self.seed}:{step}")
        rewarded = time.perf_counter()
        metrics: Figures = {}
        if isinstance(self.algorithm, Rft):
            taught = rollouts.right()
            metrics = {"kept": len(taught.completions)}
        return Experience(rollouts, taught, metrics, sampled - started, rewarded - sampled)

    def _completions(self, step: int, rows: Sequence[TokenisedRow]) -> list[Completion]:
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
            stream=(self.seed, step),
            precision=recipe.precision,
            recording=self.recording,
        )
