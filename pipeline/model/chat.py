"""From chat messages to the tokens that a model continues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pipeline.base.errors import UserError

if TYPE_CHECKING:  # it loads for seconds, and most who import this want no model
    from transformers import PreTrainedTokenizerBase

PREFILL = "<think>"
"""The beginning of answers to prompts that ask for tags, as in Study 1."""

EMPTY_THOUGHT = "</think>"
"""The continuation where the answer must not reason (Ma et al. 2025, arXiv 2504.09858)."""


def beginning(*, think: bool) -> str:
    """The beginning of an answer with tags; if not ``think``, with an empty thought."""
    return PREFILL if think else f"{PREFILL}{EMPTY_THOUGHT}"


def prefilled(template: str, *, think: bool = True) -> str:
    """A chat template whose generation prompt includes the answer's beginning."""
    begun = beginning(think=think)
    # Jinja drops one line break at the end of a template; in the middle it would be text.
    return f"{template.removesuffix(chr(10))}{{% if add_generation_prompt %}}{begun}{{% endif %}}"


def encode_prompt(
    tokenizer: PreTrainedTokenizerBase,
    messages: Iterable[Mapping[str, str]],
    *,
    begun: str = PREFILL,
) -> tuple[int, ...]:
    """The tokens of a chat prompt and the answer's beginning ``begun``; refuses control tokens."""
    return _encoded(tokenizer, _text(tokenizer, messages, begun))


def encode_continued(
    tokenizer: PreTrainedTokenizerBase,
    messages: Iterable[Mapping[str, str]],
    begun: str,
    texts: Iterable[str],
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The tokens of a chat prompt, and those of its continuations.

    They are divided as lm-evaluation-harness divides them (``_encode_pair``): each text is encoded
    with its prompt, and spaces at the end of the prompt belong to the text.
    """
    whole = _text(tokenizer, messages, begun)
    prompt = _encoded(tokenizer, whole.rstrip())
    continued = [_encoded(tokenizer, f"{whole}{text}")[len(prompt) :] for text in texts]
    return prompt, continued


def _text(
    tokenizer: PreTrainedTokenizerBase, messages: Iterable[Mapping[str, str]], begun: str
) -> str:
    chat = [dict(message) for message in messages]
    for message in chat:
        refuse_control(tokenizer.all_special_tokens, message["content"])
    text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    return text if begun and text.endswith(begun) else f"{text}{begun}"  # an exported model's does


def _encoded(tokenizer: PreTrainedTokenizerBase, text: str) -> tuple[int, ...]:
    return tuple(tokenizer.encode(text, add_special_tokens=False))


def refuse_control(tokens: Iterable[str], text: str) -> None:
    """Refuse text with control tokens, which would end its turn or begin another.

    A tokenizer cannot tell a template's control token from one quoted in a question.
    """
    for token in tokens:
        before, found, after = text.partition(token)
        if found:
            raise UserError(
                f"a text that is put to the model holds {token!r}, one of its control tokens, in "
                f"{before[-20:] + token + after[:20]!r}; remove or rewrite it in the source"
            )
