"""From chat messages to the tokens that a model continues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from transformers import PreTrainedTokenizerBase

PREFILL = "<think>"
"""What the answer to a prompt that asks for tags begins with, as in Study 1."""


def encode_prompt(
    tokenizer: PreTrainedTokenizerBase,
    messages: Iterable[Mapping[str, str]],
    *,
    prefilled: bool = True,
) -> tuple[int, ...]:
    """Return the tokens of a chat prompt.

    Args:
        tokenizer: The model's, with its chat template.
        messages: The chat.
        prefilled: Whether the answer begins with the opening ``<think>``.
    """
    text = tokenizer.apply_chat_template(
        [dict(message) for message in messages], tokenize=False, add_generation_prompt=True
    )
    begun = PREFILL if prefilled else ""
    return tuple(tokenizer.encode(f"{text}{begun}", add_special_tokens=False))
