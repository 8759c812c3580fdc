"""Finding the answer in a reply of any form, as people's own files hold them.

Training and evaluation ask for tags and read nothing else (:mod:`pipeline.tasks.grading`). Linear
in the length of a reply.
"""

from __future__ import annotations

import re

from pipeline.tasks.example import Example
from pipeline.tasks.grading import THINK_END, extract_tagged, is_unfinished, option_of
from pipeline.tasks.json_answer import extract_json
from pipeline.tasks.plain import plain, split_letter

LONGEST_PLAIN_ANSWER = 200
"""Characters of a one-line reply that counts as the answer itself."""

_BOXED = re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_MARKED = re.compile(r"\banswer\b[*_\s]*(?:is\b|[:=])[*_:\s]*(\S[^\n]*)", re.IGNORECASE)
_LINE_GOES_ON = re.compile(r":[*_]*[^\S\n]*\n\s*")
_SENTENCE_ENDS = re.compile(r"(?<!\W[A-Za-z])[.!?](?=\s)")


def find_answer(response: str, example: Example) -> str | None:
    """The answer of a reply, or None where it cannot be located.

    In this order: the last tagged text or JSON value, verbatim; the last box, the last "answer is"
    or "Answer:", a first or last line that is an option, the only option named with its letter, a
    short reply (which must name an option, if there are any). A letter stands for its option, a
    sentence for the one option that it names. An unclosed thought holds no answer.
    """
    if is_unfinished(response):
        return None
    for found in (extract_tagged(response), extract_json(response)):
        if found is not None:
            return found
    reply = _LINE_GOES_ON.sub(": ", response.rpartition(THINK_END)[2].strip())
    for pattern in (_BOXED, _MARKED):
        if marked := pattern.findall(reply):
            return _option(_sentence(marked[-1]), example)
    lines = [line for line in reply.splitlines() if line.strip()]
    for line in (lines[0], lines[-1]) if lines else ():
        if (option := _lettered(line, example)) is not None:
            return option
    if (option := _only_lettered(reply, example)) is not None:
        return option
    short = len(lines) == 1 and len(reply) <= LONGEST_PLAIN_ANSWER
    found = _option(reply, example) if short else ""
    named = not example.choices or any(plain(c) in plain(found) for c in example.choices)
    return found if found and named else None


def _sentence(text: str) -> str:
    """The first sentence; the stop after an option's letter does not end it."""
    start = len(text) - len(split_letter(text)[1])
    end = _SENTENCE_ENDS.search(text, start)
    return text[: end.start()] if end else text


def _lettered(line: str, example: Example) -> str | None:
    """The option if a line is its letter, its name or both, and nothing else."""
    letter, said = split_letter(line.strip())
    bare = plain(line)
    for option in example.choices or ():
        if plain(said) == plain(option) and letter in (None, *_letters_of(option, example)):
            return option
    return option_of(bare, example) if len(bare) == 1 else None


def _only_lettered(reply: str, example: Example) -> str | None:
    """The only option that a reply names with its letter."""
    found = [
        option
        for place, option in enumerate(example.choices or ())
        if re.search(rf"\b{chr(ord('A') + place)}\W{{1,4}}{re.escape(option)}\b", reply)
    ]
    return found[0] if len(found) == 1 else None


def _letters_of(option: str, example: Example) -> list[str]:
    return [chr(ord("a") + n) for n, each in enumerate(example.choices or ()) if each == option]


def _option(text: str, example: Example) -> str:
    """The option that a text names, by letter or as the only one; else the text."""
    if (option := _lettered(text, example)) is not None:
        return option
    letter, said = split_letter(text)
    padded = f" {plain(said)} "
    named = [each for each in example.choices or () if f" {plain(each)} " in padded]
    agrees = len(named) == 1 and letter in (None, *_letters_of(named[0], example))
    return named[0] if agrees else text.strip()
