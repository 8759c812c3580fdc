"""The answer of a reply in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_KEY = "answer"
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_BROKEN = re.compile(r'answer"\s*:\s*"([^"]*)')
_MOST_OBJECTS = 8  # a reply has one, or a few before its last
_LONGEST = 100_000
_DECODER = json.JSONDecoder(
    strict=False,  # models break lines within a text
    object_pairs_hook=lambda pairs: dict(reversed(pairs)),  # of a key twice the first counts
)


def extract_json(response: str) -> str | None:
    """The value of the key ``answer``, or of the first key that ends so where the JSON is broken.

    The first object with the key counts, and the first of duplicate keys. Text around it, such as a
    fence, and trailing commas are ignored. Of broken JSON it is the text between ``answer": "`` and
    the next quotation mark. Source: zhebushipinyin/Tom-RL:eval_tom/qwen_series_eval.py
    (``reward_func``), which reads all replies this way.
    """
    if '"' not in response:
        return None
    for found in _objects(response):
        for key, value in found.items():
            if key.strip().lower() == _KEY:
                return _text(value)
    broken = _BROKEN.search(response)
    return broken[1] if broken else None


def _objects(response: str) -> Iterator[dict[str, object]]:
    """Yield the outermost objects of a reply that can be parsed, in order."""
    start = response.find("{", 0, _LONGEST)
    for _ in range(_MOST_OBJECTS):
        if start < 0:
            return
        found, length = _parsed(response[start:_LONGEST])
        if found is not None:
            yield found
        start = response.find("{", start + length, _LONGEST)


def _parsed(text: str) -> tuple[dict[str, object] | None, int]:
    """(object at the beginning of a text, its length); (None, 1) if there is none."""
    for mended in (text, _TRAILING_COMMA.sub(r"\1", text)):
        try:
            found, end = _DECODER.raw_decode(mended)
        except (ValueError, RecursionError):
            continue
        return found, end
    return None, 1


def _text(value: object) -> str | None:
    """A value as a person writes it: a list of texts as "Ann, Tom"."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False)
