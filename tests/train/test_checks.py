"""What training refuses before it starts, whatever its backend."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.base.errors import UserError
from pipeline.config.training import Train
from pipeline.train.checks import check_fit
from pipeline.train.data import TokenisedRow
from tests.train import tiny

STORY = "1 Ann entered the hall.\n2 The pear is in the red_box.\n3 Ann exited the hall."


def readable() -> TokenisedRow:
    """A prompt about a story that the belief engine reads."""
    (row,) = tiny.rows(1)
    question = "Where does Ann think the pear is?"
    example = replace(row.example, benchmark="hi_tom", story=STORY, question=question)
    return replace(row, example=example)


def test_a_reward_for_reasoning_needs_a_story_that_can_be_read() -> None:
    model, tokenizer = tiny.base()
    paid = Train.model_validate(tiny.RECIPE.model_dump() | {"reward": "fidelity"})
    rows = tiny.rows(3)
    with pytest.raises(UserError, match=r"'fidelity'.* can read none of the 3 training stories"):
        check_fit(model.config, tokenizer, rows, rows, paid)
    check_fit(model.config, tokenizer, [*rows, readable()], rows, paid)
    check_fit(model.config, tokenizer, rows, rows, tiny.RECIPE)
