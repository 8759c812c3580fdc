"""The prompt that verl shows: the chat template of the model, and then the pre-filled ``<think>``.

verl builds a prompt with ``apply_chat_template(messages, add_generation_prompt=True)`` from the
tokenizer at ``model.tokenizer_path``. A template that ends in the opening tag gives the tokens of
:func:`pipeline.model.chat.encode_prompt`, whatever the model. Every prompt that is trained on asks
for tags, so all of them have it.
"""

from __future__ import annotations

from pathlib import Path

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from pipeline.base.errors import UserError
from pipeline.model.chat import prefilled
from pipeline.model.weights import end_ids_in, write_end_ids


def write_tokenizer(model: Path, folder: Path, *, think: bool = True) -> PreTrainedTokenizerBase:
    """Write the tokenizer of a model with the pre-filling template; return it.

    Args:
        model: Folder of the model.
        folder: Receives the tokenizer, with the model's end tokens beside it.
        think: Whether answers may reason; else they begin with an empty thought.

    Raises:
        UserError: If the model has no chat template.
    """
    tokenizer = AutoTokenizer.from_pretrained(model)
    if not isinstance(tokenizer.chat_template, str):
        raise UserError(
            f"the model in {model} has no chat template; choose an instruction-tuned model"
        )
    tokenizer.chat_template = prefilled(tokenizer.chat_template, think=think)
    tokenizer.save_pretrained(folder)
    write_end_ids(folder, end_ids_in(model, tokenizer))
    return tokenizer
