"""Steps that do not fit in memory: for the user before the first, worth another try later."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from pipeline.base.errors import TransientError, UserError
from pipeline.train.refusal import refusing
from pipeline.train.rollout import Rollouts

NOTHING = Rollouts((), (), (), ())


@pytest.mark.parametrize(("step", "kind"), [(1, UserError), (2, TransientError)])
def test_memory_that_is_out_names_what_to_lower(
    tmp_path: Path, step: int, kind: type[Exception]
) -> None:
    with pytest.raises(UserError) as out, refusing(tmp_path, step, NOTHING):
        torch.empty(10**15)  # a petabyte and more
    assert type(out.value) is kind
    assert str(out.value).startswith(f"step {step}: out of memory (")
    assert "Lower train.groups_per_micro_batch" in str(out.value)
    assert list(tmp_path.iterdir()) == []


def test_a_list_that_does_not_fit_is_memory_too(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="out of memory"), refusing(tmp_path, 1, NOTHING):
        bytearray(10**17)


def test_other_errors_are_left_alone(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="size of tensor"), refusing(tmp_path, 1, NOTHING):
        torch.ones(2) + torch.ones(3)
