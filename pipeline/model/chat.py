"""From chat messages to the tokens that a model continues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pipeline.base.errors import UserError

if TYPE_CHECKING:  # it loads for seconds, and most who import this want no model
    from transformers import PreTrainedTokenizerBase

PREFILL = "<think>"
"""What the answer to a prompt that asks for tags begins with, as in Study 1."""

EMPTY_THOUGHT = "</think>"
"""What follows where the answer must not reason (Ma et al. 2025, arXiv 2504.09858)."""


def beginning(*, think: bool) -> str:
    """What the answer to a prompt that asks for tags begins with.

    Args:
        think: Whether it may reason; else the thought is over as soon as it has begun.
    """
    return PREFILL if think else f"{PREFILL}{EMPTY_THOUGHT}"


def prefilled(template: str, *, think: bool = True) -> str:
    """A chat template whose generation prompt ends in what the answer begins with."""
    begun = beginning(think=think)
    # Jinja drops one line break at the end of a template; in the middle it would be text.
    return f"{template.removesuffix(chr(10))}{{% if add_generation_prompt %}}{begun}{{% endif %}}"


def encode_prompt(
    tokenizer: PreTrainedTokenizerBase,
    messages: Iterable[Mapping[str, str]],
    *,
    begun: str = PREFILL,
) -> tuple[int, ...]:
    """The tokens of a chat prompt.

    Args:
        tokenizer: The model's, with its chat template.
        messages: The chat.
        begun: What the answer begins with, see :func:`beginning`; nothing where it is empty.

    Raises:
        UserError: If a message holds a control token of the model.
    """
    return _encoded(tokenizer, _text(tokenizer, messages, begun))


def encode_continued(
    tokenizer: PreTrainedTokenizerBase,
    messages: Iterable[Mapping[str, str]],
    begun: str,
    texts: Iterable[str],
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The tokens of a chat prompt, and those of texts that go on from it.

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
    """Refuse text that would end its turn, or begin another.

    A tokenizer knows no difference between a control token that a template writes and one that a
    question quotes.

    Raises:
        UserError: Names the token, and the text around it.
    """
    for token in tokens:
        before, found, after = text.partition(token)
        if found:
            raise UserError(
                f"a text that is put to the model holds {token!r}, one of its control tokens, in "
                f"{before[-20:] + token + after[:20]!r}; remove or rewrite it in the source"
            )
