"""Greedy accuracy: the share of prompts that a model answers rightly without sampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from transformers import PreTrainedModel

from pipeline.engine.recording import Recording
from pipeline.engine.sampling import Sampling
from pipeline.reward.reward import Reward
from pipeline.train.data import TokenisedRow
from pipeline.train.rollout import Judge, sample

_BATCH = 100  # prompts decoded at once


@dataclass(frozen=True)
class Answered:
    """What a model answers to some prompts.

    Attributes:
        right: The share that is right.
        count: The prompts to which some answer is found, right or wrong.
    """

    right: float
    count: int


@dataclass(frozen=True)
class GreedyAccuracy:
    """Measures the share of prompts that a model answers rightly without sampling.

    Right is what the reward pays, so that a strict reward also chooses its checkpoint strictly.

    Attributes:
        judge: Grades completions.
        max_new_tokens: Longest completion.
        precision: Number format of the forward pass.
        recording: Of the passes that write completions on an accelerator.
    """

    judge: Judge
    max_new_tokens: int
    precision: str
    recording: Recording = field(default_factory=Recording)

    def __call__(self, model: PreTrainedModel, rows: Sequence[TokenisedRow]) -> Answered:
        """What a model in evaluation mode answers."""
        sampling = Sampling(self.max_new_tokens, temperature=0)
        rewards: list[Reward] = []
        for start in range(0, len(rows), _BATCH):
            batch = rows[start : start + _BATCH]
            completions = sample(
                model,
                self.judge.tokenizer,
                batch,
                sampling,
                group=1,
                stream=(0,),
                precision=self.precision,
                recording=self.recording,
            )
            rewards += self.judge(batch, completions).rewards
        answered = sum(bool(reward.grade.extracted) for reward in rewards)
        return Answered(sum(reward.right for reward in rewards) / len(rows), answered)
