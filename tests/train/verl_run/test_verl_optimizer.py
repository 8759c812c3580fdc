"""AdamW on shards, as verl steps it: in one kernel, which is said of accelerators only."""

from __future__ import annotations

import copy
import os

import torch
from torch import nn
from torch.multiprocessing.spawn import spawn

from pipeline.base.ports import free_ports

RANKS = 2


def _stepped(rank: int, fused: bool | None) -> list[torch.Tensor]:
    """The weights of a model after some steps, of which the last are of a restored state."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    def fresh() -> torch.optim.Optimizer:
        return torch.optim.AdamW(model.parameters(), lr=1e-2, fused=fused)

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 5), nn.GELU(), nn.Linear(5, 3))
    fully_shard(model, mesh=init_device_mesh("cpu", (RANKS,)))  # type: ignore[no-untyped-call]
    optimizer = fresh()
    for step in range(4):
        torch.manual_seed(RANKS * step + rank)
        loss = model(torch.randn(5, 6)).square().mean()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()
        if step == 1:
            saved, optimizer = copy.deepcopy(optimizer.state_dict()), fresh()
            optimizer.load_state_dict(saved)
    return [weights.full_tensor() for weights in model.parameters()]  # type: ignore[attr-defined]


def _compare(rank: int, port: int) -> None:
    from torch import distributed

    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    distributed.init_process_group("gloo", rank=rank, world_size=RANKS)
    plain, fused = (_stepped(rank, each) for each in (None, True))
    for ours, theirs in zip(plain, fused, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
    distributed.destroy_process_group()


def test_one_kernel_steps_on_shards_as_several() -> None:
    spawn(_compare, tuple(free_ports(1)), nprocs=RANKS)
