"""Dynamic sampling: prompts whose completions all earn the same teach nothing; others are drawn.

Yu et al. 2025, "DAPO", arXiv 2503.14476, section 3.2, with a bound on the draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from pipeline.formats.records import Figures
from pipeline.train.contract import History
from pipeline.train.rollout import Rollouts

_DRAWS, _LEFT_OUT = "draws", "groups_left_out"


@dataclass(frozen=True)
class Drawn:
    """The rollouts of a step, and what it took to get them.

    Attributes:
        rollouts: As many prompts as in one draw.
        draws: Batches of prompts that were drawn.
        left_out: Groups among them whose completions all earned the same.
    """

    rollouts: Rollouts
    draws: int
    left_out: int

    def metrics(self) -> Figures:
        """The figures that a step has of it."""
        return {_DRAWS: self.draws, _LEFT_OUT: self.left_out}


def draw(batches: Iterator[Rollouts], most: int) -> Drawn:
    """Draw until there are as many groups with unlike rewards as one batch has.

    Groups are kept in the order in which they were drawn, and more than are needed are dropped.
    Where so many are not found, the first that were left out fill the batch.

    Args:
        batches: Rollouts of other prompts each time, as many groups in each.
        most: Batches that are taken at most.
    """
    taken: list[Rollouts] = []
    telling: list[tuple[int, int]] = []  # batch and group
    alike: list[tuple[int, int]] = []
    for number, rollouts in enumerate(islice(batches, most)):
        taken.append(rollouts)
        for place in range(len(rollouts.rows)):
            (telling if _tells(rollouts, place) else alike).append((number, place))
        if len(telling) >= len(rollouts.rows):
            break
    chosen = [*telling, *alike][: len(taken[0].rows)]
    return Drawn(
        _join([_group(taken[number], place) for number, place in chosen]), len(taken), len(alike)
    )


def batches_used(history: History) -> int:
    """How many batches of prompts the finished steps have drawn."""
    return sum(int(step.metrics.get(_DRAWS, 1)) for step in history.steps if step.step > 0)


def _tells(rollouts: Rollouts, place: int) -> bool:
    """Whether the completions of a prompt earn different rewards."""
    return len({reward.score for reward in _group(rollouts, place).rewards}) > 1


def _group(rollouts: Rollouts, place: int) -> Rollouts:
    """One prompt with its completions."""
    own = slice(place * rollouts.group, (place + 1) * rollouts.group)
    return Rollouts(
        rollouts.rows[place : place + 1],
        rollouts.completions[own],
        rollouts.texts[own],
        rollouts.rewards[own],
    )


def _join(parts: Sequence[Rollouts]) -> Rollouts:
    return Rollouts(
        tuple(chain.from_iterable(part.rows for part in parts)),
        tuple(chain.from_iterable(part.completions for part in parts)),
        tuple(chain.from_iterable(part.texts for part in parts)),
        tuple(chain.from_iterable(part.rewards for part in parts)),
    )
