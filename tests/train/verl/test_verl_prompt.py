"""verl shows the model the very tokens that the local trainer shows it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from pipeline.base.errors import UserError
from pipeline.model import turns
from pipeline.model.chat import beginning, encode_prompt, prefilled
from pipeline.model.tiny import make_tokenizer
from pipeline.ops.verl.prompt import write_tokenizer

# In the manner of Qwen2.5: a system prompt of its own, tool calls, whitespace control.
LIKE_QWEN = (
    "{%- if tools %}\n    {{- '<|im_start|>system\\n' }}{{- tools }}{{- '<|im_end|>\\n' }}\n"
    "{%- elif messages[0]['role'] != 'system' %}\n"
    "    {{- '<|im_start|>system\\nYou are helpful.<|im_end|>\\n' }}\n{%- endif %}\n"
    "{%- for message in messages %}\n"
    "    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}\n"
    "{%- endfor %}\n{%- if add_generation_prompt %}\n    {{- '<|im_start|>assistant\\n' }}\n"
    "{%- endif %}\n"
)
CHATML = turns.TEMPLATES["chatml"]
TEMPLATES = {"tiny": CHATML, "like qwen": LIKE_QWEN, "bare end": CHATML + "\n"}
STORY = "Ann put the ball in the box.\nBob's story: <think> about it — naïve?"
PROMPTS: list[list[dict[str, str]]] = [
    [{"role": "user", "content": STORY}],
    [
        {"role": "system", "content": "Think in <think></think>."},
        {"role": "user", "content": STORY},
    ],
    [{"role": "user", "content": " leading and trailing \n"}],
    [{"role": "user", "content": "the {{ braces }} of {% templates %} <|end|>"}],
]


@pytest.fixture(params=TEMPLATES, scope="module")
def model(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tokenizer."""
    folder = tmp_path_factory.mktemp("model")
    tokenizer = make_tokenizer([STORY] * 3, 400)
    tokenizer.chat_template = TEMPLATES[request.param]
    tokenizer.save_pretrained(folder)
    (folder / "config.json").write_text("{}")  # names no further ends
    return folder


def verl_tokens(tokenizer: PreTrainedTokenizerBase, messages: list[dict[str, str]]) -> list[int]:
    """The prompt as verl's agent loop builds it for a model of this architecture."""
    wiring = import_module("verl.utils.tokenizer.continuous_token_wiring")
    builder = wiring.create_continuous_token_builder(tokenizer, hf_model_type="qwen2")
    return list(builder.build_initial_tokens(messages))


@pytest.mark.verl
@pytest.mark.parametrize("think", [True, False])
@pytest.mark.parametrize("messages", PROMPTS)
def test_prompts_are_the_local_trainers(
    model: Path, tmp_path: Path, messages: list[dict[str, str]], think: bool
) -> None:
    begun = beginning(think=think)
    local = encode_prompt(AutoTokenizer.from_pretrained(model), messages, begun=begun)
    write_tokenizer(model, tmp_path / "tokenizer", think=think)
    shown = verl_tokens(AutoTokenizer.from_pretrained(tmp_path / "tokenizer"), messages)
    assert tuple(shown) == local


def test_only_the_generation_prompt_is_prefilled(model: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(model)
    before = tokenizer.apply_chat_template(PROMPTS[0], tokenize=False)
    tokenizer.chat_template = prefilled(tokenizer.chat_template)
    assert tokenizer.apply_chat_template(PROMPTS[0], tokenize=False) == before


def test_the_length_filter_counts_the_same_tokens(model: Path, tmp_path: Path) -> None:
    """verl drops prompts above the limit by the same template: both skip the same rows."""
    tokenizer = write_tokenizer(model, tmp_path / "tokenizer")
    found = tokenizer.apply_chat_template(PROMPTS[0], add_generation_prompt=True, tokenize=True)
    counted = found["input_ids"] if not isinstance(found, list) else found
    assert len(counted) == len(encode_prompt(AutoTokenizer.from_pretrained(model), PROMPTS[0]))


def test_a_model_without_a_chat_template(tmp_path: Path) -> None:
    tokenizer = make_tokenizer([STORY], 400)
    tokenizer.chat_template = None
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text("{}")  # names no further ends
    with pytest.raises(UserError, match="has no chat template; choose an instruction-tuned model"):
        write_tokenizer(tmp_path, tmp_path / "tokenizer")
    assert not (tmp_path / "tokenizer").exists()
