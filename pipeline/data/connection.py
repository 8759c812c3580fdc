"""The connection of a column of results to a model's training data: computed, never declared.

The strongest connection of a column is its mark, which limits what its numbers say about
generalisation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum

from pipeline.data.origin import Origin
from pipeline.formats.records import Record


class Connection(StrEnum):
    """Kinds of overlap with the training data, the strongest first."""

    TRAINED = "trained"
    """Reinforcement learning paid answers to questions of its kind: one generator, one telling,
    one question, one order."""

    DEMONSTRATED = "demonstrated"
    """The warm start showed questions of its kind with their answers."""

    SHARING_STORIES = "sharing stories"
    """Other questions, or other words, about stories from training."""

    SHARING_STRUCTURES = "sharing structures"
    """Other stories with the same events under other names."""

    SAME_GENERATOR = "same generator"
    """Other kinds of question from the same benchmark or its look-alike, on other events."""

    HELD_OUT = "held out"
    """Nothing of the above."""


MEANINGS = {
    Connection.TRAINED: "its kind of question was trained on",
    Connection.DEMONSTRATED: "its kind of question was shown with answers in the warm start",
    Connection.SHARING_STORIES: "its stories were shown, with other questions or in other words",
    Connection.SHARING_STRUCTURES: "its events were shown under other names",
    Connection.SAME_GENERATOR: "its generator was shown",
    Connection.HELD_OUT: "nothing of it was shown",
}


class Mark(Record):
    """The strongest connection of a column, with the number of rows that have it."""

    connection: Connection
    rows: int
    of: int

    def text(self) -> str:
        """With its share of the rows where it is not all of them."""
        if self.rows == self.of:
            return str(self.connection)
        return f"{self.connection} ({_percent(self.rows, self.of)} %)"


def _percent(rows: int, of: int) -> str:
    """A percentage strictly between 0 and 100."""
    return f"{min(99, max(1, round(100 * rows / of)))}"


class Shown(Record):
    """Training data of a model: by reinforcement learning, if any, and of its base, if known."""

    trained: Origin | None = None
    demonstrated: Origin | None = None

    @property
    def origins(self) -> Sequence[Origin]:
        return [origin for origin in (self.trained, self.demonstrated) if origin is not None]


def mark(column: Origin, shown: Shown) -> Mark:
    connection, rows = next(iter(connections(column, shown).items()))
    return Mark(connection=connection, rows=rows, of=column.rows)


def connections(column: Origin, shown: Shown) -> dict[Connection, int]:
    """The rows of a column by connection; held out if there is none."""
    counted = {connection: count(column, shown) for connection, count in _COUNTS.items()}
    found = {connection: rows for connection, rows in counted.items() if rows}
    return found or {Connection.HELD_OUT: column.rows}


def _of_kinds(column: Origin, other: Origin | None) -> int:
    kinds = set() if other is None else other.kinds()
    return sum(portion.rows for portion in column.portions if portion.kind in kinds)


def _of_stories(column: Origin, shown: Shown) -> int:
    known = {story for origin in shown.origins for story in origin.stories}
    return sum(rows for story, rows in column.stories.items() if story in known)


def _of_structures(column: Origin, shown: Shown) -> int:
    known = {structure for origin in shown.origins for structure in origin.structures}
    return sum(rows for structure, rows in column.structures.items() if structure in known)


def _of_generators(column: Origin, shown: Shown) -> int:
    known = {generator for origin in shown.origins for generator in origin.generators()}
    return sum(portion.rows for portion in column.portions if portion.generator in known)


# The strongest first, as in Connection.
_COUNTS: dict[Connection, Callable[[Origin, Shown], int]] = {
    Connection.TRAINED: lambda column, shown: _of_kinds(column, shown.trained),
    Connection.DEMONSTRATED: lambda column, shown: _of_kinds(column, shown.demonstrated),
    Connection.SHARING_STORIES: _of_stories,
    Connection.SHARING_STRUCTURES: _of_structures,
    Connection.SAME_GENERATOR: _of_generators,
}
