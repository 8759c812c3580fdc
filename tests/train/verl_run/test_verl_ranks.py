"""Two ranks load, train and save as verl's own code does, with and without tied embeddings.

Only a model whose output weights are its own takes the path of the larger sizes: one rank reads the
weights, the others start from nothing and are told. The models that are trained elsewhere in tests
tie them.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

import pytest
import torch
from torch.multiprocessing.spawn import spawn

from pipeline.base.ports import free_ports
from pipeline.config.models import TinySize
from pipeline.formats.files import read_json, write_json
from pipeline.model.tiny import make_model, make_tokenizer
from pipeline.model.weights import load_model, save_model
from pipeline.ops.verl.checkpoints import export, merge
from tests.conftest import PROJECT

RANKS = 2
IDS = torch.tensor([[5, 6, 7, 8, 9]])


def _train(rank: int, folder: str, port: int) -> None:
    """Take a step on one rank, save its shard, and write where weights were and the loss."""
    os.environ |= {"VERL_PLATFORM": "cpu", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    sys.path.insert(0, str(PROJECT / "tests" / "on_cpu"))
    import_module("verl_cpu")  # before verl looks for a platform
    from omegaconf import OmegaConf
    from torch import distributed
    from torch.distributed.device_mesh import init_device_mesh
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
    from verl.utils import fsdp_utils
    from verl.utils.checkpoint.fsdp_checkpoint_manager import FSDPCheckpointManager

    base = Path(folder) / "base"
    distributed.init_process_group("gloo", rank=rank, world_size=RANKS)
    mesh = init_device_mesh("cpu", (RANKS,), mesh_dim_names=("fsdp",))
    tied = AutoConfig.from_pretrained(base).tie_word_embeddings
    with fsdp_utils.get_init_weight_context_manager(use_meta_tensor=not tied, mesh=mesh)():
        model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    device, weights = str(model.lm_head.weight.device), model.state_dict()
    fsdp_utils.apply_fsdp2(model, {"mesh": mesh, "reshard_after_forward": True}, {})
    fsdp_utils.fsdp2_load_full_state_dict(model, weights, mesh, None)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    model(input_ids=IDS, labels=IDS).loss.backward()
    optimizer.step()
    FSDPCheckpointManager(
        model,
        optimizer,
        processing_class=AutoTokenizer.from_pretrained(base),
        checkpoint_config=OmegaConf.create({"save": ["model"], "load": ["model"]}),
    ).save_checkpoint(str(Path(folder) / "actor"))
    loss = model(input_ids=IDS, labels=IDS).loss.item()
    write_json(Path(folder) / f"{rank}.json", {"device": device, "loss": loss})
    distributed.destroy_process_group()


@pytest.mark.verl
@pytest.mark.parametrize("tied", [True, False])
def test_what_two_ranks_trained_is_what_is_stored(tied: bool, tmp_path: Path) -> None:
    tokenizer = make_tokenizer(["yes or no"], 300)
    model = make_model(TinySize(16, 1, 1), tokenizer, context=64, seed=0)
    if not tied:
        model.config.tie_word_embeddings = False
        drawn = torch.randn(model.lm_head.weight.shape, generator=torch.Generator().manual_seed(1))
        model.lm_head.weight = torch.nn.Parameter(0.1 * drawn)
    save_model(tmp_path / "base", model, tokenizer)
    before = model(input_ids=IDS, labels=IDS).loss.item()
    spawn(_train, (str(tmp_path), *free_ports(1)), nprocs=RANKS)
    told = [read_json(tmp_path / f"{rank}.json") for rank in range(RANKS)]
    assert [each["device"] for each in told] == ["cpu", "cpu" if tied else "meta"]
    export(merge(tmp_path / "actor"), tmp_path / "base", tmp_path / "out")
    stored, _ = load_model(tmp_path / "out")
    after = stored(input_ids=IDS, labels=IDS).loss.item()
    assert [each["loss"] for each in told] == pytest.approx([after, after], abs=1e-6)
    assert after < before - 0.1
