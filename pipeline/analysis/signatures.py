"""Every signature that was looked for in a cell, with its effect, there or not."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.analysis.results import CellResult, Results, TrainedResult
from pipeline.analysis.training_signatures import training_signatures
from pipeline.formats.records import Record

_RATIO, _SHARE = "ratio", "share of responses"


class CellSignature(Record):
    """A signature that was looked for.

    Attributes:
        cell: Key of the cell.
        task: The task whose responses were looked at; empty for what training changed.
        name: Its name.
        present: Whether it is there.
        value: Size of the effect.
        low: Lower end of its 95 % interval.
        high: Upper end of its 95 % interval.
        what: What the effect is, in words.
    """

    cell: str
    task: str
    name: str
    present: bool
    value: float
    low: float
    high: float
    what: str

    def effect(self) -> str:
        """The size of the effect with its interval: a ratio, a share, or points."""
        if self.what.endswith(_RATIO):
            return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"
        value, low, high = (100 * end for end in (self.value, self.low, self.high))
        if self.what.startswith(_SHARE):
            return f"{value:.1f} % ({low:.1f} to {high:.1f})"
        return f"{value:+.1f} points ({low:+.1f} to {high:+.1f})"

    def sentence(self) -> str:
        where = f"{self.cell}: {self.task}" if self.task else self.cell
        return f"{where}: {self.name}: {self.what} {self.effect()}."


def cell_signatures(results: Results) -> list[CellSignature]:
    """The signatures that were looked for in all cells, in the order of the study."""
    return [each for result in results.cells.values() for each in _of_cell(results, result)]


def _of_cell(results: Results, result: CellResult) -> Iterator[CellSignature]:
    """Yield what was looked for in the responses of a cell, then in its training."""
    for task, verdict in result.verdicts.items():
        for found in verdict.signatures:
            yield CellSignature.model_validate({"cell": result.key, "task": task, **found})
    if isinstance(result, TrainedResult):
        for each in training_signatures(results, result):
            yield CellSignature.model_validate({"cell": result.key, "task": "", **each.as_json()})
