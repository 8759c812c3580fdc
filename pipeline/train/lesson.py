"""Sequences for a warm start."""

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
    """A token sequence of which the model learns the part after ``given`` tokens."""

    tokens: tuple[int, ...]
    given: int


def said_twice(words: Sequence[int], random: Random) -> Lesson:
    """A list of words said twice; the second time is predicted.

    It takes finding where a word stood before and the word after it. Looking up the place of a name
    takes the same, and here every position teaches it.
    """
    count = min(random.randint(_SHORTEST, _LONGEST), len(words))
    said = tuple(random.sample(words, count))
    return Lesson(said + said, count)


def collate(lessons: Sequence[Lesson], pad: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Ids [N, T], padded at the right, and mask of predicted tokens [N, T]."""
    ids, real = pad_right([lesson.tokens for lesson in lessons], pad, device)
    given = torch.tensor([lesson.given for lesson in lessons], device=device)
    return ids, real & (torch.arange(ids.shape[1], device=device) >= given[:, None])
