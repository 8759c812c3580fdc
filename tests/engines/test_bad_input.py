"""Inputs that do not fit together: one clear error before anything is launched."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from transformers import AutoTokenizer

from pipeline.formats.files import read_json, write_json
from pipeline.formats.weights import WeightsFolder
from pipeline.ops.cluster.head import private_head
from tests.conftest import type_command
from tests.engines.conftest import GRPO
from tests.raylets import named, without_ray

STAGE = ("python", "-m", "pipeline.stages.train", GRPO)


def refused(checkout: Path, **extra: str) -> str:
    """Run the stage, which must refuse its input; return its one message."""
    done = type_command(checkout, checkout.parent, *STAGE, **extra)
    assert done.returncode == 2, done.stdout + done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1 and "Traceback" not in done.stderr
    return errors[0]


def test_a_tokenizer_of_another_vocabulary(checkout: Path, tmp_path: Path) -> None:
    manifest = checkout / "runs/mini/base/nano/checkpoints.json"
    content = read_json(manifest)
    weights = WeightsFolder(checkout / "weights/mini/base/nano", "base@nano")
    model = tmp_path / "model"
    shutil.copytree(weights.root / content["checkpoints"]["base"]["digest"], model)
    tokenizer = AutoTokenizer.from_pretrained(model)
    tokens = len(tokenizer)
    tokenizer.add_tokens([f"token{i}" for i in range(50)])
    tokenizer.save_pretrained(model)
    content["checkpoints"]["base"]["digest"] = weights.take(model)
    manifest.unlink()
    write_json(manifest, content)
    message = refused(checkout)
    assert f"the tokenizer has {tokens + 50} tokens" in message
    assert "they do not belong together" in message
    assert not list((checkout / "work").glob("*/job"))


def test_an_environment_without_what_verl_needs(checkout: Path) -> None:
    with private_head(Path(sys.executable), without_ray(), gpus=2, cpus=22) as cluster:
        message = refused(checkout, **named(cluster))
    assert "transfer_queue" in message, message
