"""Where a model computes: without a GPU for real, and with one that torch is told of."""

from __future__ import annotations

import pytest
import torch

from pipeline.errors import UserError
from pipeline.model.device import autocast, available_memory, choose_device, peak_memory

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


@pytest.mark.parametrize("present", [False, True])
def test_auto_takes_a_gpu_where_there_is_one(
    present: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: present)
    assert choose_device("auto") == (CUDA if present else CPU)
    assert choose_device("cpu") == CPU
    if present:
        assert choose_device("cuda") == CUDA
    else:
        with pytest.raises(UserError, match="no CUDA device"):
            choose_device("cuda")


def test_memory_of_a_gpu_is_asked_of_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda device: 7)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (5, 9))
    assert (peak_memory(CUDA), available_memory(CUDA)) == (7, 5)
    assert peak_memory(CPU) > 10**7 and available_memory(CPU) > 10**7


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_products_take_the_format_of_the_precision(precision: str) -> None:
    with autocast(CPU, precision):
        product = torch.ones(2, 2) @ torch.ones(2, 2)
    assert product.dtype == getattr(torch, precision)
