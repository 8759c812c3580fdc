"""A probe: accuracy on trained columns and others at the end of every epoch.

It shows when training on one task stops helping, or starts to hurt, the others (Study 2).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.config.training import Train
from pipeline.engine.recording import Recording
from pipeline.engine.sampling import Sampling
from pipeline.reward.presets import preset_of
from pipeline.reward.reward import Reward
from pipeline.train.data import TokenisedRow, probed_rows
from pipeline.train.rollout import Judge, sample

Probe = Callable[[PreTrainedModel], Mapping[str, float]]
"""From the policy, in evaluation mode, to figures by name."""

_BATCH = 100  # prompts decoded at once
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answered:
    """Share of right answers, and number of prompts with some answer, right or wrong."""

    right: float
    count: int


@dataclass(frozen=True)
class GreedyAccuracy:
    """Greedy accuracy by the reward's rule, so that strict rewards select checkpoints strictly."""

    judge: Judge
    max_new_tokens: int
    precision: str
    recording: Recording = field(default_factory=Recording)

    def __call__(self, model: PreTrainedModel, rows: Sequence[TokenisedRow]) -> float:
        return self.measured(model, rows).right

    def measured(self, model: PreTrainedModel, rows: Sequence[TokenisedRow]) -> Answered:
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


@dataclass(frozen=True)
class AccuracyProbe:
    """Greedy accuracy on named sets of rows, none of them empty."""

    sets: Mapping[str, Sequence[TokenisedRow]]
    accuracy: GreedyAccuracy

    def __call__(self, model: PreTrainedModel) -> dict[str, float]:
        return {name: self.accuracy(model, rows) for name, rows in self.sets.items()}


def load_probe(
    dataset: Path, tokenizer: PreTrainedTokenizerBase, recipe: Train
) -> AccuracyProbe | None:
    """A probe on a dataset's ``probe/COLUMN.parquet``, if there are any."""
    sets = probed_rows(dataset / "probe", tokenizer, recipe, lambda text: log.warning("%s", text))
    if not sets:
        return None
    judge = Judge(tokenizer, preset_of(recipe.reward), recipe.think)
    return AccuracyProbe(sets, GreedyAccuracy(judge, recipe.max_new_tokens, recipe.precision))
