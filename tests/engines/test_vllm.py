"""Two engines, one model: vLLM's greedy text against transformers'. Needs vLLM's environment."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerBase

from pipeline.config.models import TinySize
from pipeline.config.sources import HiTomSource
from pipeline.data import generated
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Engine, Prompt, Response
from pipeline.evaluate.hf_engine import TransformersEngine
from pipeline.model.tiny import make_model, make_tokenizer
from pipeline.model.weights import save_model
from pipeline.ops.vllm.engine import Here, VllmEngine

PROMPTS, NEW_TOKENS = 50, 64


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a model with random weights, whose greedy texts all differ."""
    folder = tmp_path_factory.mktemp("model with a space")
    tokenizer: PreTrainedTokenizerBase = make_tokenizer(stories(), 512)
    shape = TinySize(hidden=64, layers=2, heads=2)  # heads of 32: vLLM's kernels know no 16
    save_model(folder, make_model(shape, tokenizer, context=1024, seed=0), tokenizer)
    return folder


def stories() -> list[str]:
    source = HiTomSource(kind="hi_tom_style", agents=3, test=PROMPTS)
    return [rows[0]["story"] for rows in generated.stories(source, "test", PROMPTS)]


def complete(engine: Engine, sampling: Sampling) -> list[Response]:
    prompts = [
        Prompt([{"role": "user", "content": story}], (index,))
        for index, story in enumerate(stories())
    ]
    done: list[int] = []
    responses = engine.complete(prompts, sampling, done.append)
    assert done[-1] == len(prompts)
    return responses


@pytest.mark.parametrize("replicas", [pytest.param(1, marks=pytest.mark.nightly), 2])
def test_greedy_text_equals_transformers_token_for_token(
    model: Path, project: Path, tmp_path: Path, replicas: int
) -> None:
    """Also where two processes share the prompts, as two accelerators would have them."""
    sampling = Sampling(NEW_TOKENS, temperature=0)
    expected = complete(TransformersEngine(model, tmp_path / "hf", 16), sampling)
    engine = VllmEngine(model, tmp_path / "work", Here(project, threads=1), replicas=replicas)
    found = complete(engine, sampling)
    assert found == expected
    assert len({response.text for response in expected}) > PROMPTS // 2
    assert list((tmp_path / "work").iterdir()) == []
    tokens = sum(response.completion_tokens for response in found)
    print(f"\n{len(found)} prompts, {tokens} tokens, all equal")
