"""What the report's page shows on demand, packed to travel inside it: samples and curves."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from pipeline.analysis.looks import looks
from pipeline.analysis.marked import pieces
from pipeline.analysis.results import Results
from pipeline.analysis.samples import KINDS, Recorded, Sample, choose
from pipeline.judge.items import Item
from pipeline.tasks.example import Example

MOST_OF_EACH_KIND = 8
"""Samples of each kind that a cell shows of a column, where they fit."""

LARGEST = 2_500_000
"""Characters that samples and curves may take on the page."""

MOST_POINTS = 200
"""Points of a curve: more than can be told apart."""

_LONGEST_STORY = 20_000  # characters


def packed(results: Results, recorded: Recorded) -> str:
    """Samples and curves as base64 of gzipped JSON, the same text for the same results.

    Each kind of sample has fewer members where they would take more than :data:`LARGEST`.
    """
    count, marked = MOST_OF_EACH_KIND, Marked()
    while True:
        text = pack(contents(results, recorded, choose(results, recorded, count), marked))
        if len(text) <= LARGEST or count == 1:
            return text
        count //= 2


def pack(value: object) -> str:
    """A JSON value as base64 of its gzipped text."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # A half of a surrogate pair, which a model can write, has no UTF-8.
    return base64.b64encode(gzip.compress(text.encode(errors="replace"), mtime=0)).decode()


def contents(
    results: Results, recorded: Recorded, samples: list[Sample], marked: Marked
) -> dict[str, Any]:
    """Samples and curves as tables that name each story and each response once."""
    tables = _Tables(marked)
    rows = [tables.row(sample) for sample in samples]
    return {
        "kinds": KINDS,
        "prompts": dict(recorded.prompts),
        "stories": tables.stories.rows,
        "questions": tables.questions.rows,
        "responses": tables.responses.rows,
        "samples": rows,
        "curves": curves(results),
        "looks": looks(results).cells,
    }


@dataclass
class _Table:
    """Rows, each of which is there once."""

    rows: list[Any] = field(default_factory=list)
    places: dict[Hashable, int] = field(default_factory=dict)

    def place(self, key: Hashable, make: Callable[[], Any]) -> int:
        if key not in self.places:
            self.places[key] = len(self.rows)
            self.rows.append(make())
        return self.places[key]


class Marked:
    """Responses with their claims marked, each read once however often samples are chosen."""

    def __init__(self) -> None:
        self._rows: dict[Hashable, list[Any]] = {}

    def row(self, item: Item) -> list[Any]:
        """The answer, whether it is right, and the pieces of the response."""
        key = (item.example.id, item.response)
        if key not in self._rows:
            shown = [piece.as_json() for piece in pieces(item)]
            self._rows[key] = [item.extracted, int(item.right), shown]
        return self._rows[key]


@dataclass
class _Tables:
    marked: Marked
    stories: _Table = field(default_factory=_Table)
    questions: _Table = field(default_factory=_Table)
    responses: _Table = field(default_factory=_Table)

    def row(self, sample: Sample) -> list[Any]:
        """Cell, column, kind, question, response, response before, rule."""
        question, before = sample.item.example, sample.before
        return [
            sample.cell,
            sample.column,
            KINDS.index(sample.kind),
            self.questions.place(question.id, lambda: self._question(question)),
            self._response(sample.item),
            None if before is None else self._response(before),
            sample.rule,
        ]

    def _question(self, example: Example) -> list[Any]:
        story = example.story[:_LONGEST_STORY]
        place = self.stories.place(story, lambda: story)
        choices = list(example.choices or ())
        return [place, example.question, example.answer, choices, example.order, example.id]

    def _response(self, item: Item) -> int:
        key = (item.example.id, item.response)
        return self.responses.place(key, lambda: self.marked.row(item))


def curves(results: Results) -> dict[str, dict[str, list[list[float]]]]:
    """By cell and figure, steps and values; at most :data:`MOST_POINTS` of each."""
    return {result.key: _curves(result.curve) for result in results.trained() if result.curve}


def _curves(rows: list[dict[str, float]]) -> dict[str, list[list[float]]]:
    names = dict.fromkeys(name for row in rows for name in row if name not in ("step", "epoch"))
    found = {}
    for name in names:
        points = [(row["step"], row[name]) for row in rows if row.get(name) is not None]
        every = -(-len(points) // MOST_POINTS)
        # From the end, so that the last step is always shown.
        shown = points[::-1][:: max(1, every)][::-1]
        found[name] = [[step for step, _ in shown], [float(f"{value:.4g}") for _, value in shown]]
    return found
