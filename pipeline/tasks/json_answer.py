"""The answer of a reply in JSON, parsed as JSON where it is JSON."""

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

    The first object with the key counts, and of a key twice the first. What surrounds it, as a
    fence, does not count, and a comma too many does no harm. Of broken JSON it is the text between
    ``answer": "`` and the next quotation mark. Source:
    zhebushipinyin/Tom-RL:eval_tom/qwen_series_eval.py (``reward_func``), which reads all so.
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
    """Yield the objects of a reply that can be parsed, from left to right, inner ones aside."""
    start = response.find("{", 0, _LONGEST)
    for _ in range(_MOST_OBJECTS):
        if start < 0:
            return
        found, length = _parsed(response[start:_LONGEST])
        if found is not None:
            yield found
        start = response.find("{", start + length, _LONGEST)


def _parsed(text: str) -> tuple[dict[str, object] | None, int]:
    """The object that a text begins with and its length; of none the length is 1."""
    for mended in (text, _TRAILING_COMMA.sub(r"\1", text)):
        try:
            found, end = _DECODER.raw_decode(mended)
        except (ValueError, RecursionError):
            continue
        return found, end
    return None, 1


def _text(value: object) -> str | None:
    """A value as a reader would write it: a list of texts as "Ann, Tom"."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False)
