"""The engine ``vllm`` where there is no vLLM: what it says, and what it keeps."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipeline.config.models import TinySize
from pipeline.errors import UserError
from pipeline.evaluate import vllm_worker
from pipeline.evaluate.engine import Prompt
from pipeline.evaluate.vllm_engine import PYTHON_VARIABLE, Here, VllmEngine
from pipeline.evaluate.vllm_worker import PromptRow
from pipeline.model.decode import Sampling
from pipeline.model.tiny import make_model, make_tokenizer
from pipeline.model.weights import save_model

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


def test_what_is_done_is_not_done_again(model: Path, tmp_path: Path) -> None:
    """The worker itself, on a request whose rows another one has finished, but for a torn line."""
    asked: list[list[int]] = []

    def launch(job: Path, hear: object) -> None:
        rows = [json.loads(line) for line in (job / "prompts.jsonl").read_text().splitlines()]
        asked.append([row["index"] for row in rows])
        output = Path(json.loads((job / "request.json").read_text())["output"])
        row = {"index": 0, "tokens": [5, 2], "finished": True}
        output.write_text(json.dumps(row) + "\n" + '{"index": 1, "tok')
        assert vllm_worker.main(job) == 0

    engine = VllmEngine(model, tmp_path / "work", launch)
    found = engine.complete(PROMPTS, Sampling(16), lambda _: None)
    assert asked == [[0]]  # the other prompt leaves no room for an answer
    assert [response.finish_reason for response in found] == ["stop", "prompt_too_long"]
    assert found[0].completion_tokens == 2
    assert list((tmp_path / "work").iterdir()) == []
    assert engine.effort.figures() == {}, "nothing was loaded, nothing generated"


def test_its_speed_is_that_of_what_this_run_generated(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The worker, with three tokens for each answer in vLLM's place; stopped after one of two."""
    answer = SimpleNamespace(token_ids=[5, 6, 2], finish_reason="stop")
    generated: list[int] = []

    def generate(_: object, __: object, rows: list[PromptRow]) -> list[object]:
        generated.extend(row["index"] for row in rows)
        return [SimpleNamespace(outputs=[answer]) for _ in rows]

    def launch(job: Path, hear: Callable[[str], None]) -> None:
        assert vllm_worker.main(job) == 0
        for line in capsys.readouterr().out.splitlines():
            hear(line)

    def stop(done: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(vllm_worker, "_load", lambda _: None)
    monkeypatch.setattr(vllm_worker, "_generate", generate)
    monkeypatch.setattr(vllm_worker, "CHUNK", 1)
    prompts = [PROMPTS[0], replace(PROMPTS[0], key=(2,))]
    stopped = VllmEngine(model, tmp_path / "work", launch)
    with pytest.raises(KeyboardInterrupt):
        stopped.complete(prompts, Sampling(16), stop)
    (output,) = (tmp_path / "work").glob("*.jsonl")
    output.write_text(output.read_text().splitlines(keepends=True)[0])  # as far as it was heard
    engine = VllmEngine(model, tmp_path / "work", launch)
    found = engine.complete(prompts, Sampling(16), lambda _: None)
    assert generated == [0, 1, 1]
    assert (stopped.effort.tokens, engine.effort.tokens) == (3, 3)
    assert [response.completion_tokens for response in found] == [3, 3]
    effort = engine.effort
    assert effort.figures()["tokens_per_second"] == effort.tokens / effort.seconds
    assert effort.load_seconds > 0


def test_a_model_that_the_node_does_not_see(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = {"output": str(tmp_path / "out.jsonl"), "model": str(tmp_path / "gone")}
    (tmp_path / "request.json").write_text(json.dumps(request))
    (tmp_path / "prompts.jsonl").write_text('{"index": 0, "tokens": [5], "seed": 0}\n')
    assert vllm_worker.main(tmp_path) == 3
    assert "TOMRL_ERROR" in capsys.readouterr().out


def test_a_worker_ends_with_the_stage_that_started_it(tmp_path: Path) -> None:
    (tmp_path / "request.json").write_text("{}")
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
