"""What a warm start teaches in one step: sequences, and where in each the teaching begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor

from pipeline.engine.batch import pad_right

_SHORTEST, _LONGEST = 6, 16  # words of a list that is said twice


@dataclass(frozen=True, slots=True)
class Lesson:
    """A token sequence of which the model learns to continue the beginning.

    Attributes:
        tokens: The whole sequence.
        given: Number of tokens at its beginning that are not taught.
    """

    tokens: tuple[int, ...]
    given: int


def said_twice(words: Sequence[int], random: Random) -> Lesson:
    """A list of words that is said twice, of which the second time is taught.

    To continue it a model must find where a word stood before and say what came next there. That is
    what fetching the place that goes with a name takes, too, and here every position teaches it.
    """
    count = min(random.randint(_SHORTEST, _LONGEST), len(words))
    said = tuple(random.sample(words, count))
    return Lesson(said + said, count)


def collate(lessons: Sequence[Lesson], pad: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids [N, T], padded at the right, and where they are taught [N, T]."""
    ids, real = pad_right([lesson.tokens for lesson in lessons], pad, device)
    given = torch.tensor([lesson.given for lesson in lessons], device=device)
    return ids, real & (torch.arange(ids.shape[1], device=device) >= given[:, None])
