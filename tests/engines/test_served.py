"""Real OpenAI-compatible servers: the texts that the model itself gives, and what they refuse.

vLLM's needs its environment, llama.cpp's the package xllamacpp. All serve one tiny model here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from gguf import GGMLQuantizationType

from pipeline.base.ports import free_ports
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import TOO_LONG, Prompt
from pipeline.evaluate.hf_engine import TransformersEngine
from pipeline.evaluate.openai_engine import OpenAiEngine
from pipeline.model.manifest import ApiManifest
from pipeline.model.weights import load_model
from pipeline.tasks.grading import THINK_END as END
from tests.engines.test_vllm import NEW_TOKENS, model, stories
from tests.model.test_published_models import write_gguf

__all__ = ["model"]
ASKED = 10
CONTEXT = 1024
_SPECIAL = re.compile(r"<\|[a-z_]+\|>")


@contextmanager
def running(command: list[str], port: int, log: Path) -> Iterator[str]:
    """Run a server until it is no longer needed; yield its address once it answers."""
    variables = {
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "TORCH_COMPILE_DISABLE": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_NO_USAGE_STATS": "1",
    }
    with log.open("wb") as output:
        server = subprocess.Popen(
            command,
            env={**os.environ, **variables},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            wait_for(f"http://127.0.0.1:{port}/health", server, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            if server.poll() is None:
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(1200):
        assert server.poll() is None, log.read_text(errors="replace")[-3000:]
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except OSError:
            time.sleep(0.5)
    said = log.read_text(errors="replace")[-3000:]
    pytest.fail(f"{address} did not answer in ten minutes: {said}")


@pytest.fixture(scope="module")
def served(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model under a name without a space, its class named as servers want it."""
    folder = tmp_path_factory.mktemp("served")
    shutil.copytree(model, folder, dirs_exist_ok=True)
    config = json.loads((folder / "config.json").read_text())
    config["architectures"] = ["Qwen2ForCausalLM"]
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def shown(text: str) -> str:
    """As much of a text as every server sends alike.

    They leave out special tokens, and each does what it likes with bytes that are no character.
    """
    return _SPECIAL.sub("", text).partition("\ufffd")[0].strip()


def started(kind: str, model: Path, project: Path, port: int) -> list[str]:
    """The command that starts a server of a model."""
    where = ["--host", "127.0.0.1", "--port", str(port)]
    if kind == "vllm":
        python = project / ".venv-vllm" / "bin" / "python"
        entry = [str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", str(model)]
        return [*entry, *where, "--max-model-len", str(CONTEXT), "--dtype", "float32"]
    if kind == "llama.cpp":
        pytest.importorskip("xllamacpp")
        file = model / "model.gguf"
        write_gguf(file, load_model(model)[0], model, matrices=GGMLQuantizationType.F32)
        return [sys.executable, "-m", "tests.engines.llama_server", str(file), str(port)]
    entry = [str(Path(sys.executable).parent / "transformers"), "serve", str(model)]
    return [*entry, *where, "--dtype", "float32", "--device", "cpu"]


@pytest.mark.parametrize(
    "kind", [pytest.param("vllm", marks=pytest.mark.nightly), "transformers", "llama.cpp"]
)
def test_a_real_server_gives_the_models_own_texts(
    kind: str, served: Path, project: Path, tmp_path: Path
) -> None:
    model = served
    (port,) = free_ports(1)
    command = started(kind, model, project, port)
    prompts = [
        Prompt([{"role": "user", "content": story}], (index,), "")
        for index, story in enumerate(stories()[:ASKED])
    ]
    sampling = Sampling(NEW_TOKENS, temperature=0)
    expected = TransformersEngine(model, tmp_path / "hf", 16).complete(
        prompts, sampling, lambda _: None
    )
    with running(command, port, tmp_path / "server.log") as address:
        manifest = ApiManifest(
            model="served",
            api=str(model),
            address=address,
            key=None,
            prompt_price=None,
            completion_price=None,
        )
        engine = OpenAiEngine(manifest, tmp_path / "work", at_once=4)
        found = engine.complete(prompts, sampling, lambda _: None)
        if kind != "transformers":  # whose server knows no longest text
            long = Prompt([{"role": "user", "content": "hall " * CONTEXT}], (ASKED,), "")
            assert engine.complete([long], sampling, lambda _: None) == [TOO_LONG]
    # What a server takes for the end of reasoning, it may leave out with all that is before.
    pairs = [(a.text, b.text) for a, b in zip(found, expected, strict=True) if END not in b.text]
    assert len(pairs) > ASKED // 2
    assert [shown(theirs) for theirs, _ in pairs] == [shown(own) for _, own in pairs]
    assert sum(len(shown(own)) for _, own in pairs) > 10 * len(pairs)
    assert engine.usage.completion_tokens == sum(each.completion_tokens for each in found) > 0
    print(f"\n{kind}: {len(found)} texts, all equal")
