"""What a step teaches: responses alone, lists said twice, and a head that looks one token back."""

from __future__ import annotations

from random import Random
from typing import Literal

import torch

from pipeline.config.models import SIZES
from pipeline.model.tiny import make_model, make_tokenizer
from pipeline.train.lesson import Lesson, collate, said_twice


def test_a_list_is_said_twice_and_its_second_half_taught() -> None:
    for seed in range(50):
        lesson = said_twice(range(100, 200), Random(seed))
        half = len(lesson.tokens) // 2
        assert lesson.tokens[:half] == lesson.tokens[half:] and lesson.given == half
        assert len(set(lesson.tokens)) == half
    assert len(said_twice(range(3), Random(0)).tokens) == 6  # no more words than there are


def test_only_what_comes_after_the_beginning_is_taught() -> None:
    ids, taught = collate([Lesson((1, 2, 3, 4), 2), Lesson((5, 6), 1)], 0, torch.device("cpu"))
    assert ids.tolist() == [[1, 2, 3, 4], [5, 6, 0, 0]]
    assert taught.tolist() == [[False, False, True, True], [False, True, False, False]]


def test_a_head_looks_one_token_back_from_the_start() -> None:
    tokenizer = make_tokenizer(["one two three four five six seven eight nine ten"], 300)
    ids = torch.randint(10, 250, (1, 40), generator=torch.Generator().manual_seed(3))

    def share_on_the_token_before(look_back: bool) -> float:
        model = make_model(SIZES["nano"], tokenizer, context=64, seed=1, look_back=look_back)
        model.set_attn_implementation("eager")
        attention = model(input_ids=ids, output_attentions=True).attentions[0][0, 0]
        return attention.diagonal(-1).mean().item()

    assert share_on_the_token_before(True) > 0.8 > 0.3 > share_on_the_token_before(False)


def test_a_head_finds_what_came_after_a_token_the_last_time_from_the_start() -> None:
    tokenizer = make_tokenizer(["one two three four five six seven eight nine ten"], 300)
    random = Random(0)

    def share_found(look_back: bool | Literal["again"]) -> float:
        model = make_model(SIZES["nano"], tokenizer, context=64, seed=1, look_back=look_back)
        found = 0
        for _ in range(40):
            lesson = said_twice(range(10, 250), random)
            said = model(input_ids=torch.tensor([lesson.tokens])).logits[0].argmax(-1)
            first = lesson.given  # what comes before the first word said again tells nothing
            found += int((said[first:-1] == torch.tensor(lesson.tokens[first + 1 :])).sum())
            count.append(len(lesson.tokens) - 1 - first)
        return found

    count = list[int]()
    assert share_found(True) < 0.1 * sum(count)
    count.clear()
    assert share_found("again") > 0.5 * sum(count)
