"""The counter of waits sees each of them, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from pipeline.engine.batch import sent
from tests.model.waits import Waits

NUMBERS, MASK = torch.arange(4.0), torch.tensor([True, False, True, True])
CPU = torch.device("cpu")


@pytest.mark.parametrize("inference", [True, False], ids=["inference", "training"])
@pytest.mark.parametrize(
    "waiting",
    [
        lambda: int(NUMBERS[1]),
        lambda: float(NUMBERS.sum()),
        lambda: NUMBERS[1].item(),
        lambda: bool(MASK.all()),
        lambda: NUMBERS.tolist(),
        lambda: NUMBERS.numpy(),
        lambda: NUMBERS.cpu(),
        lambda: NUMBERS.to("cpu"),
        lambda: NUMBERS.to(device="cpu"),
        lambda: NUMBERS[MASK],
        lambda: NUMBERS.masked_select(MASK),
        lambda: MASK.nonzero(),
        lambda: torch.where(MASK),
        lambda: NUMBERS.unique(),
        lambda: torch.equal(NUMBERS, NUMBERS),
        lambda: torch.allclose(NUMBERS, NUMBERS),
        lambda: NUMBERS.repeat_interleave(MASK.long()),
        lambda: torch.tensor([1, 2], device=CPU),
    ],
)
def test_each_wait_is_seen_once(waiting: Callable[[], object], inference: bool) -> None:
    with torch.inference_mode(inference), Waits() as waits:
        waiting()
    assert len(waits.seen) == 1, waits.seen


@pytest.mark.parametrize("inference", [True, False], ids=["inference", "training"])
def test_what_stays_on_the_device_is_not_seen(inference: bool) -> None:
    with torch.inference_mode(inference), Waits() as waits:
        places = sent([0, 2], CPU)
        held: Tensor = NUMBERS[places].masked_fill(MASK[:2], 0).repeat_interleave(2, 0)
        held[places] = NUMBERS.index_select(0, places).to(CPU, non_blocking=True)
        torch.where(held > 1, held, -held).double().sort()
    assert not waits.seen
