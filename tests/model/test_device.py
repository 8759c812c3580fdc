"""Where a model computes: without a GPU for real, and with one that torch is told of."""

from __future__ import annotations

import copy
import platform
import subprocess
import sys

import pytest
import torch

from pipeline.base.errors import UserError
from pipeline.engine.decode import generate
from pipeline.engine.device import (
    answering,
    autocast,
    available_memory,
    cast_linear,
    choose_device,
    peak_memory,
)
from pipeline.engine.sampling import Sampling
from tests.conftest import PROJECT
from tests.model.casts import Casts
from tests.model.grouped import grouped_heads

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


def test_answers_in_half_precision_cast_each_weight_once() -> None:
    model, prompts, keys = grouped_heads(vocabulary=100), [[5, 6, 7], [8]], [(0,), (1,)]
    weights = {name: weight.clone() for name, weight in model.state_dict().items()}
    shape = model.base_model.layers[0].mlp.down_proj.weight.shape
    layers, tokens = model.config.num_hidden_layers, 12

    with Casts(shape) as casts, answering(model, "bfloat16"):
        once = generate(model, prompts, keys, Sampling(tokens), stops=())
    assert casts.count == layers
    with Casts(shape) as casts, autocast(CPU, "bfloat16"):
        assert generate(model, prompts, keys, Sampling(tokens), stops=()) == once
    assert casts.count == layers
    for name, weight in model.state_dict().items():
        assert weight.dtype == torch.float32 and torch.equal(weight, weights[name])


def test_what_prompts_leave_is_cast_once_not_for_every_token() -> None:
    model, prompts = grouped_heads(vocabulary=100), [[5, 6, 7, 8, 9], [8, 9, 5, 6, 7]]
    size = model.config.hidden_size // model.config.num_attention_heads
    shape = torch.Size([len(prompts), model.config.num_key_value_heads, len(prompts[0]), size])
    counts = []
    for tokens in (2, 12):
        with Casts(shape) as casts, answering(model, "bfloat16"):
            generate(model, prompts, [(0,), (1,)], Sampling(tokens), stops=())
        counts.append(casts.count)
    assert counts[0] == counts[1]


def test_a_frozen_model_held_in_half_precision_says_the_same() -> None:
    model, ids = grouped_heads(vocabulary=100), torch.tensor([[5, 6, 7]])
    cast = copy.deepcopy(model)
    cast_linear(cast, "float32")
    assert cast.get_output_embeddings().weight.dtype == torch.float32
    cast_linear(cast, "bfloat16")
    assert cast.get_output_embeddings().weight.dtype == torch.bfloat16
    with autocast(CPU, "bfloat16"), torch.no_grad():
        assert torch.equal(cast(ids).logits, model(ids).logits)


of_glibc = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="only glibc's allocator is told to"
)


def printed(script: str) -> float:
    """The number that a process of its own prints."""
    shown = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=PROJECT
    )
    return float(shown.stdout)


@of_glibc
def test_freed_memory_is_kept_for_the_next_tensor() -> None:
    """The pages of large tensors are filled once, not each time one comes and goes."""
    script = (
        "import resource, torch\n"
        "from pipeline.engine.device import set_up_torch\n"
        "set_up_torch(1)\n"
        "faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "make = lambda: torch.ones(2**22)\n"  # 16 MiB, 4,096 pages
        "for _ in range(20): make()\n"  # until the heap has settled
        "before = faults()\n"
        "for _ in range(10): make()\n"
        "print(faults() - before)"
    )
    assert printed(script) < 2**12  # not 10 * 2**12


@of_glibc
def test_what_lies_free_between_tensors_is_handed_back_when_asked_for() -> None:
    script = (
        "import psutil, torch\n"
        "from pipeline.engine.device import hand_back_memory, set_up_torch\n"
        "set_up_torch(1)\n"
        "held = lambda: psutil.Process().memory_info().rss\n"
        "tensors = [torch.ones(2**18) for _ in range(200)]\n"  # a MiB each
        "del tensors[::2]\n"
        "before = held()\n"
        "hand_back_memory()\n"
        "print((before - held()) / 2**20)"
    )
    assert printed(script) > 80  # of 100
