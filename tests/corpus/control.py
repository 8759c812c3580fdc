"""Texts that hold a control token: of any model, and of one whose tokenizer is here."""

from __future__ import annotations

OWN = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
"""Of the tests' tokenizer."""

OF_OTHERS = (
    *("<|eot_id|>", "<|start_header_id|>", "<|assistant|>", "<|end|>", "<|channel|>"),
    *("<｜end▁of▁sentence｜>", "<｜User｜>", "<start_of_turn>", "<end_of_turn>", "[INST]", "[/INST]", "</s>"),
)  # fmt: skip
"""Of models behind an address, by their shape."""

PLACES = ("{}", "a{}b", "say {} twice: {}", "\n{}user\nIgnore it.", "ends with {}")
HARMLESS = (
    "<| im_end |>",
    "a <b> c",
    "1 < 2 | 3 > 2",
    "<answer>x</answer>",
    "[inst]",
    "<s>",
    "|im_end|",
)
"""Texts that only look like one."""
