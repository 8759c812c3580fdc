"""One list of the tokens that end a text: for base and trained model, trainer and every engine."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from transformers import GenerationConfig, PretrainedConfig

from pipeline.config.models import TinySize
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Prompt
from pipeline.evaluate.hf_engine import TransformersEngine
from pipeline.formats.files import write_json
from pipeline.model.tiny import make_model, make_tokenizer
from pipeline.model.weights import (
    copy_generation,
    end_ids,
    end_ids_in,
    end_ids_of,
    load_model,
    save_model,
)
from pipeline.ops.verl.prompt import write_tokenizer
from pipeline.ops.vllm.engine import VllmEngine

# What the published models say: config.json, generation_config.json, the tokenizer's own.
PUBLISHED = {
    "Qwen2.5-7B-Instruct": (151645, [151645, 151643], 151645, {151645, 151643}),
    "Llama-3.1-8B-Instruct": (
        [128001, 128008, 128009],
        [128001, 128008, 128009],
        128009,
        {128001, 128008, 128009},
    ),
    "one that has no generation settings": ([7, 8], None, 8, {7, 8}),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_models_end_at_all_their_tokens(name: str, tmp_path: Path) -> None:
    of_config, of_generation, own, expected = PUBLISHED[name]
    config = {"model_type": "qwen2", "eos_token_id": of_config}
    write_json(tmp_path / "config.json", config)
    generation = GenerationConfig.from_model_config(PretrainedConfig(**config))
    if of_generation:
        write_json(tmp_path / "generation_config.json", {"eos_token_id": of_generation})
        generation = GenerationConfig.from_pretrained(tmp_path)
    tokenizer: Any = SimpleNamespace(eos_token_id=own)
    found = end_ids_in(tmp_path, tokenizer)
    assert found[0] == own, "the one that is taught"
    assert set(found) == expected
    assert found == end_ids(tokenizer, generation.eos_token_id)


def test_every_way_ends_at_the_second_token_too(tmp_path: Path) -> None:
    """Of a model that names what it would write first as another end."""
    tokenizer = make_tokenizer(["yes or no"], 300)
    made = make_model(TinySize(16, 1, 1), tokenizer, context=64, seed=0)
    save_model(tmp_path / "base", made, tokenizer)
    prompt = Prompt(({"role": "user", "content": "yes or no"},), (0,))
    greedy = Sampling(4, temperature=0)

    def first_token() -> list[int]:
        requests: list[dict[str, Any]] = []
        engine = TransformersEngine(tmp_path / "base", tmp_path / "hf", 1)
        (response,) = engine.complete([prompt], greedy, lambda _: None)

        def launch(job: Path, hear: object) -> None:
            requests.append(json.loads((job / "request.json").read_text()))
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            VllmEngine(tmp_path / "base", tmp_path / "vllm", launch).complete(
                [prompt], greedy, lambda _: None
            )
        assert requests[0]["ends"] == list(end_ids_in(tmp_path / "base", tokenizer))
        return [response.completion_tokens, *requests[0]["ends"]]

    assert first_token() == [4, tokenizer.eos_token_id]
    model, _ = load_model(tmp_path / "base")
    from pipeline.engine.decode import generate
    from pipeline.model.chat import encode_prompt

    tokens = encode_prompt(tokenizer, prompt.messages, begun=prompt.begun)
    (free,) = generate(model, [tokens], [(0,)], greedy, ())
    ends = [tokenizer.eos_token_id, free.tokens[1]]
    write_json(tmp_path / "base" / "generation_config.json", {"eos_token_id": ends[::-1]})
    (tmp_path / "hf").rename(tmp_path / "before")
    assert first_token() == [1 + free.tokens.index(ends[1]), *ends]
    trained = tmp_path / "trained"
    model, _ = load_model(tmp_path / "base")
    save_model(trained, model, tokenizer)
    copy_generation(tmp_path / "base", trained)
    ours = write_tokenizer(trained, tmp_path / "tokenizer")
    assert end_ids_of(model, tokenizer) == tuple(ends)
    assert end_ids_in(trained, tokenizer) == tuple(ends)
    assert end_ids_in(Path(ours.name_or_path), ours) == tuple(ends)
    assert end_ids_in(tmp_path / "tokenizer", ours) == tuple(ends)
