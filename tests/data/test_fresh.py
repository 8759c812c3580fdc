"""Fresh questions: no rule solves them, however many are drawn."""

from __future__ import annotations

from itertools import islice

import pytest

from pipeline.audit.sets import learned_baseline
from pipeline.base.errors import UserError
from pipeline.data.fresh import Drawn, fresh
from pipeline.rules.listed import baselines
from pipeline.rules.reading import read_all
from tests.data.test_hard import SOURCE

DRAWN = Drawn(task="hi_tom_style_train", source=SOURCE, orders=(1, 2))
BLOCK, COUNT = 1500, 400


def test_no_rule_solves_what_is_drawn_without_end() -> None:
    found = list(islice(fresh([DRAWN], 1, BLOCK), COUNT))
    assert {example.order for example in found} == {1, 2}
    assert len({example.id for example in found}) == COUNT
    readings = read_all(found)
    learned = learned_baseline(readings)
    assert learned is not None
    listed = {name: each.accuracy for name, each in baselines(readings).items()}
    assert max(learned.highest, *listed.values()) <= 0.65, "0.6, and what rows left to balance add"


def test_another_seed_draws_others() -> None:
    one, other = (next(fresh([DRAWN], seed, 600)) for seed in (0, 1))
    assert one != other


def test_too_few_hard_questions_are_said() -> None:
    with pytest.raises(UserError, match="rules solve all questions of 10 stories but"):
        next(fresh([DRAWN], 0, 10))
