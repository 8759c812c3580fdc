"""What the report's page shows on demand: a few samples inside it, and all in files beside it."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.analysis.details import Details
from pipeline.analysis.looks import looks
from pipeline.analysis.marked import pieces, shortened
from pipeline.analysis.results import Results
from pipeline.analysis.samples import KINDS, Recorded, Sample, Samples, choose
from pipeline.judge.items import Item
from pipeline.tasks.example import Example

MOST_OF_EACH_KIND = 8
"""Samples of each kind that a cell shows of a column inside the page, where they fit."""

LARGEST = 500_000
"""Characters that samples may take inside the page."""

PARTS = "parts"
"""The folder beside the page with all samples and the curves."""

PAGE = 250
"""Questions of a file."""

MOST_POINTS = 200
"""Points of a curve: more than can be told apart."""

_LONGEST_STORY = 20_000  # characters
_PACKED = re.compile(r"H4sI[A-Za-z0-9+/]+={0,2}")  # base64 of a gzip header and more


def packed(results: Results, recorded: Recorded, samples: Samples, marked: Marked) -> str:
    """A few samples of each kind as base64 of gzipped JSON, the same text for the same results.

    Each kind has fewer members where they would take more than :data:`LARGEST`.
    """
    count = MOST_OF_EACH_KIND
    while True:
        text = pack(contents(results, recorded, samples, choose(samples, count), marked))
        if len(text) <= LARGEST or count == 1:
            return text
        count //= 2


def packed_tables(tables: Sequence[Details]) -> str:
    return pack([[each.headings, *each.rows] for each in tables])


def pack(value: object) -> str:
    """A JSON value as base64 of its gzipped text."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # A half of a surrogate pair, which a model can write, has no UTF-8.
    data = gzip.compress(text.encode(errors="replace"), mtime=0)
    # The byte that names the system: from Python 3.14 on it is another one.
    return base64.b64encode(data[:9] + b"\x03" + data[10:]).decode()


def unpacked(text: str) -> str:
    """The text of a page or a part with what it packs as plain JSON: libraries pack differently.

    Raises:
        ValueError, OSError, EOFError, zlib.error: If something in it cannot be unpacked.
    """
    return _PACKED.sub(lambda each: gzip.decompress(base64.b64decode(each[0])).decode(), text)


def contents(
    results: Results, recorded: Recorded, every: Samples, chosen: list[Sample], marked: Marked
) -> dict[str, Any]:
    """Samples as tables that name each story and each response once, and what lies beside."""
    tables = _Tables(marked)
    rows = [tables.row(sample) for sample in chosen]
    return {
        "page": PAGE,
        "columns": {column: len(samples) for (_, column), samples in every.items()},
        "bases": {key: _base(results, recorded, key) for key in recorded.items},
        "kinds": KINDS,
        "prompts": dict(recorded.prompts),
        "stories": tables.stories.rows,
        "questions": tables.questions.rows,
        "responses": tables.responses.rows,
        "samples": rows,
        "looks": looks(results).cells,
    }


def _base(results: Results, recorded: Recorded, key: str) -> str | None:
    result = results.cells[key]
    base = None if result.cell.combination is None else results.base_of(result).key
    return base if base in recorded.items else None


def write_parts(
    folder: Path,
    results: Results,
    tables: str,
    samples: Samples,
    marked: Marked,
) -> None:
    """Write curves, tables and samples as scripts, which a page that is itself a file may load.

    ``curves.js``; ``tables.js`` in the order of the page; ``COLUMN-PAGE.js`` with stories and
    questions; ``CELL/COLUMN-PAGE.js`` with what was answered to them. Claims are marked in the
    samples that are inside the page as well. ``tables`` are packed already.
    """
    _write_part(folder, "curves", pack(curves(results)))
    _write_part(folder, "tables", tables)
    asked = {column: of_cell for (_, column), of_cell in samples.items()}
    for column, of_cell in asked.items():
        for name, page in _pages(column, of_cell):
            asking = _Tables(marked)
            questions = [asking.question(sample.item.example) for sample in page]
            told = {"stories": asking.stories.rows, "questions": questions}
            _write_part(folder, name, pack(told))
    for (key, column), of_cell in samples.items():
        for name, page in _pages(column, of_cell):
            rows = [[KINDS.index(s.kind), marked.plain(s.item), s.rule] for s in page]
            _write_part(folder, f"{key}/{name}", pack(rows))


def _pages(column: str, samples: Sequence[Sample]) -> Iterator[tuple[str, Sequence[Sample]]]:
    for number, start in enumerate(range(0, len(samples), PAGE)):
        yield f"{column}-{number}", samples[start : start + PAGE]


def _write_part(folder: Path, name: str, text: str) -> None:
    path = folder / f"{name}.js"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'part({json.dumps(name)},"{text}")\n', encoding="ascii")


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

    def plain(self, item: Item) -> list[Any]:
        """The same, without its claims if it has not been read: reading takes most of the time."""
        known = self._rows.get((item.example.id, item.response))
        return known or [item.extracted, int(item.right), [shortened(item.response)]]


@dataclass
class _Tables:
    marked: Marked
    stories: _Table = field(default_factory=_Table)
    questions: _Table = field(default_factory=_Table)
    responses: _Table = field(default_factory=_Table)

    def row(self, sample: Sample) -> list[Any]:
        """Cell, column, place, kind, question, response, response before, rule."""
        question, before = sample.item.example, sample.before
        return [
            sample.cell,
            sample.column,
            sample.place,
            KINDS.index(sample.kind),
            self.questions.place(question.id, lambda: self.question(question)),
            self._response(sample.item),
            None if before is None else self._response(before),
            sample.rule,
        ]

    def question(self, example: Example) -> list[Any]:
        """Place of the story, question, answer, choices, order, id."""
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
