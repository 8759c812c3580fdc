"""A probe: accuracy on trained columns and others at the end of every epoch.

Study 2 asks when training on one task stops helping, or starts to hurt, the others; a probe shows
it while training goes on.
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
"""From the policy to figures by name; called with the policy in evaluation mode."""

_BATCH = 100  # prompts decoded at once
log = logging.getLogger(__name__)


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

    def __call__(self, model: PreTrainedModel, rows: Sequence[TokenisedRow]) -> float:
        """The accuracy of a model in evaluation mode."""
        return self.measured(model, rows).right

    def measured(self, model: PreTrainedModel, rows: Sequence[TokenisedRow]) -> Answered:
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


@dataclass(frozen=True)
class AccuracyProbe:
    """Greedy accuracy on named sets of rows.

    Attributes:
        sets: Rows by name, such as columns of the suite; none empty.
        accuracy: Measures one set.
    """

    sets: Mapping[str, Sequence[TokenisedRow]]
    accuracy: GreedyAccuracy

    def __call__(self, model: PreTrainedModel) -> dict[str, float]:
        """The accuracy on every set."""
        return {name: self.accuracy(model, rows) for name, rows in self.sets.items()}


def load_probe(
    dataset: Path, tokenizer: PreTrainedTokenizerBase, recipe: Train
) -> AccuracyProbe | None:
    """A probe on the columns that a dataset holds for it; None where it holds none.

    Args:
        dataset: Folder of a combination, with ``probe/COLUMN.parquet``.
        tokenizer: Of the policy.
        recipe: Gives lengths and grading.

    Raises:
        UserError: If a file is not a dataset, or all its prompts are too long.
    """
    sets = probed_rows(dataset / "probe", tokenizer, recipe, lambda text: log.warning("%s", text))
    if not sets:
        return None
    judge = Judge(tokenizer, preset_of(recipe.reward), recipe.think)
    return AccuracyProbe(sets, GreedyAccuracy(judge, recipe.max_new_tokens, recipe.precision))
