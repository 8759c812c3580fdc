"""Adapters in verl's checkpoints are added up with their weights as peft does it."""

from __future__ import annotations

import copy
import json
from importlib import import_module
from pathlib import Path

import pytest
import torch

from pipeline.model.weights import weights_of
from pipeline.ops.verl.checkpoints import without_adapters
from tests.train import tiny


@pytest.mark.verl
def test_added_up_as_peft_adds_them_up(tmp_path: Path) -> None:
    peft = import_module("peft")
    model, _ = tiny.base()
    config = peft.LoraConfig(
        r=4, lora_alpha=6, target_modules="all-linear", init_lora_weights=False
    )
    wrapped = peft.get_peft_model(copy.deepcopy(model), config)
    (tmp_path / "lora_train_meta.json").write_text(json.dumps({"r": 4, "lora_alpha": 6}))
    saved = {name: tensor.clone() for name, tensor in wrapped.state_dict().items()}
    found = without_adapters(saved, tmp_path)
    expected = wrapped.merge_and_unload().state_dict()
    before = weights_of(model)
    assert found.keys() == expected.keys()
    changed = {name for name in before if not torch.equal(found[name], before[name])}
    assert changed == {name for name in before if name.endswith("proj.weight")}
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor, atol=1e-6, rtol=1e-6)


def test_a_model_without_adapters_stays_as_it_is(tmp_path: Path) -> None:
    weights = weights_of(tiny.base()[0])
    assert without_adapters(weights, tmp_path) is weights
