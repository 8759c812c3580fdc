"""Beginning and end of a model's turns, on which its files must agree.

``generation_config.json``, the tokenizer and the chat template each say which token ends an answer,
and published files contradict each other: some name the token that begins a turn, as transformers'
reader of GGUF files did up to 5.10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerBase

from pipeline.base.errors import UserError
from pipeline.formats.files import read_json, write_json

GENERATION = "generation_config.json"
TEMPLATES: Mapping[str, str] = MappingProxyType(
    {
        "chatml": (
            "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}"
            "<|im_end|>\n{% endfor %}"
            "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
        ),
        "llama3": (
            "{{ bos_token }}{% for message in messages %}<|start_header_id|>{{ message.role }}"
            "<|end_header_id|>\n\n{{ message.content }}<|eot_id|>{% endfor %}"
            "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n"
            "{% endif %}"
        ),
    }
)
"""Chat templates that a study can give, by name, to a model without one."""

_SAID = "ANSWER"


@dataclass(frozen=True)
class Turn:
    """Control tokens before and after an answer in a chat template."""

    begin: frozenset[int]
    end: int


def turn_of(tokenizer: PreTrainedTokenizerBase) -> Turn:
    """The frame of an answer in a chat template; UserError if it does not end in one token."""
    asked = [{"role": "user", "content": "QUESTION"}]
    answered = [*asked, {"role": "assistant", "content": _SAID}]
    after = _written(tokenizer, answered).rpartition(_SAID)[2].strip()
    opened = _written(tokenizer, asked, add_generation_prompt=True)
    begin = opened.removeprefix(_written(tokenizer, asked))
    known = tokenizer.get_added_vocab()
    ends = [token for token in known if after.startswith(token)]
    if not ends:
        raise UserError(
            f"the chat template ends an answer with {after!r}, which is not a control token of the "
            f"tokenizer; allowed: {', '.join(sorted(known)[:8]) or 'none, it has no such tokens'}. "
            "Name another template with chat_template"
        )
    ids = set(tokenizer.encode(begin, add_special_tokens=False))
    return Turn(frozenset(ids & set(known.values())), known[max(ends, key=len)])


def _written(
    tokenizer: PreTrainedTokenizerBase, messages: list[dict[str, str]], **how: bool
) -> str:
    return str(tokenizer.apply_chat_template(messages, tokenize=False, **how))


@dataclass(frozen=True)
class Mending:
    """Changes, in sentences, after which a model's files agree on its turns; None keeps a file."""

    said: tuple[str, ...]
    tokenizer: PreTrainedTokenizerBase | None
    generation: dict[str, object] | None

    def write(self, folder: Path) -> None:
        if self.tokenizer is not None:
            # Not over what is there: that may be the published file by another name.
            with TemporaryDirectory(dir=folder) as place:
                self.tokenizer.save_pretrained(place)
                for path in Path(place).iterdir():
                    path.replace(folder / path.name)
        if self.generation is not None:
            write_json(folder / GENERATION, self.generation)


def mending_of(folder: Path, template: str | None = None) -> Mending:
    """The changes that a model's folder needs; nothing is changed here.

    Args:
        folder: The model, in Hugging Face layout.
        template: Name of a chat template that replaces its own.
    """
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    if template is not None:
        tokenizer.chat_template = TEMPLATES[template]
    if tokenizer.chat_template is None:
        raise UserError(
            f"{folder}: the tokenizer has no chat template; name one in the study with "
            f"chat_template; allowed: {', '.join(TEMPLATES)}"
        )
    turn = turn_of(tokenizer)
    changed = [] if template is None else [f"it was given the chat template {template}"]
    changed += _mend_tokenizer(tokenizer, turn)
    generation, said = _mend_generation(folder, tokenizer, turn)
    return Mending((*changed, *said), tokenizer if changed else None, generation)


def _mend_tokenizer(tokenizer: PreTrainedTokenizerBase, turn: Turn) -> list[str]:
    """Set the end of a turn as the tokenizer's, and its control tokens as special."""
    changed = []
    end, before = str(tokenizer.convert_ids_to_tokens(turn.end)), tokenizer.eos_token
    if tokenizer.eos_token_id != turn.end:
        tokenizer.eos_token = end
        changed.append(f"the tokenizer's end token is {end}, as in the chat template, not {before}")
    special = {key for key, token in tokenizer.added_tokens_decoder.items() if token.special}
    if plain := sorted((turn.begin | {turn.end}) - special):
        names = [str(tokenizer.convert_ids_to_tokens(key)) for key in plain]
        tokenizer.add_special_tokens(
            {"extra_special_tokens": names}, replace_extra_special_tokens=False
        )
        changed.append(f"control tokens are special: {', '.join(names)}")
    return changed


def _mend_generation(
    folder: Path, tokenizer: PreTrainedTokenizerBase, turn: Turn
) -> tuple[dict[str, object] | None, list[str]]:
    """Let ``generation_config.json`` name all tokens that end an answer, and no others."""
    path = folder / GENERATION
    content = read_json(path) if path.is_file() else {}
    config = AutoConfig.from_pretrained(folder, local_files_only=True)
    stated = _listed(content.get("eos_token_id"))
    named = [*stated, turn.end, *_listed(config.eos_token_id)]
    ends = list(dict.fromkeys(key for key in named if key not in turn.begin))
    if ends == (stated or [turn.end]):
        return None, []
    names = ", ".join(map(str, tokenizer.convert_ids_to_tokens(ends)))
    said = f"{GENERATION} names what ends an answer: {names}"
    return content | {"eos_token_id": ends}, [said]


def _listed(ids: int | list[int] | None) -> list[int]:
    return [] if ids is None else [ids] if isinstance(ids, int) else ids
