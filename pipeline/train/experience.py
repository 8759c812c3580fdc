"""Experience: sampled or given completions of a step, with their rewards."""

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
        taught: The rollouts to learn from; None if all were rejected.
        metrics: Counts of kept completions, with rejection.
    """

    rollouts: Rollouts
    taught: Rollouts
    metrics: Figures
    sampling_seconds: float
    reward_seconds: float


@dataclass
class ExperienceSource:
    """The source of a run's experience; ``judge`` rewards completions."""

    policy: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    judge: Judge
    recipe: Train
    algorithm: Algorithm
    seed: int
    recording: Recording = field(default_factory=Recording)

    def of(self, step: int, rows: Sequence[TokenisedRow]) -> Experience:
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
