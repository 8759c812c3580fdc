"""From chat messages to the tokens that a model continues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from transformers import PreTrainedTokenizerBase

PREFILL = "<think>"
"""What every answer begins with, as in Study 1."""


def encode_prompt(
    tokenizer: PreTrainedTokenizerBase, messages: Iterable[Mapping[str, str]]
) -> tuple[int, ...]:
    """Return the tokens of a chat prompt with the opening ``<think>`` of the answer pre-filled."""
    text = tokenizer.apply_chat_template(
        [dict(message) for message in messages], tokenize=False, add_generation_prompt=True
    )
    return tuple(tokenizer.encode(f"{text}{PREFILL}", add_special_tokens=False))
