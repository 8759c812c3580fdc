"""Test time or training: what trained cells and prompt programs get right, beside the tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import NamedTuple

from pipeline.analysis.looks import training_name
from pipeline.analysis.results import CellResult, Results, TrainedResult
from pipeline.analysis.seeds import SeedEstimate
from pipeline.analysis.tables import Column, Line, Table
from pipeline.config.params import AskedCell
from pipeline.evaluate.records import TaskScores
from pipeline.formats.plural import percent
from pipeline.judge.answers import followed
from pipeline.judge.profile import profile_text

PLAIN = "base, asked plainly"


class Way(NamedTuple):
    """A way to answers, of a model or of its seeds.

    Attributes:
        model: Title of the model.
        name: The prompt program, the training, or neither.
        trained: Whether the model is trained.
        cells: The results, one of each seed.
    """

    model: str
    name: str
    trained: bool
    cells: Sequence[CellResult]

    @property
    def accuracy(self) -> SeedEstimate:
        """Mean over the columns of the suite."""
        return SeedEstimate.of(
            [fmean(task.accuracy for task in each.tasks.values()) for each in self.cells]
        )

    @property
    def written(self) -> float:
        """Tokens of an answer, over all calls of the model that it took."""
        return self._mean(lambda scores: scores.length_mean)

    @property
    def read(self) -> float:
        """Tokens of their prompts; what several samples are shown counts once."""
        return self._mean(lambda scores: scores.prompt_mean)

    @property
    def tokens(self) -> float:
        return self.read + self.written

    def _mean(self, of: Callable[[TaskScores], float]) -> float:
        tasks = [task for each in self.cells for task in each.tasks.values()]
        return sum(of(t) * t.count for t in tasks) / sum(t.count for t in tasks)


def _said(of: Callable[[CellResult], list[str]]) -> Callable[[Way], str]:
    """What is said of cells, each with the number of them where it is not said of all."""

    def say(way: Way) -> str:
        found = Counter(text for cell in way.cells for text in of(cell))
        several = len(way.cells) > 1
        return "; ".join(f"{t} ({n})" if several else t for t, n in found.items()) or "-"

    return say


WAYS = Table[Way](
    Column("model", lambda way: way.model, "model"),
    Column("way", lambda way: way.name, "way to an answer"),
    Column("trained", lambda way: way.trained),
    Column("seeds", lambda way: len(way.cells), "seeds", lambda line: str(line["seeds"])),
    Column("accuracy", lambda way: way.accuracy.mean, "right", lambda line: _with_ends(line)),
    Column("low", lambda way: way.accuracy.low),
    Column("high", lambda way: way.accuracy.high),
    Column("read", lambda way: way.read, "tokens read", lambda n: f"{n['read']:.0f}"),
    Column("written", lambda way: way.written, "written", lambda n: f"{n['written']:.0f}"),
    Column(
        "per_thousand",
        lambda way: 1000 * way.accuracy.mean / way.tokens if way.tokens else 0.0,
        "right answers per 1,000 tokens",
        lambda line: f"{line['per_thousand']:.2f}",
    ),
    Column(
        "follow",
        _said(lambda cell: [followed(v.answers, v.by) for v in cell.verdicts.values()]),
        "answers follow",
    ),
    Column("profile", lambda way: _profile(way.cells[0]), "profile (first seed)"),
)


def _with_ends(line: Line) -> str:
    if line["seeds"] == 1:
        return percent(line["accuracy"])
    return f"{percent(line['accuracy'])} ({percent(line['low'])} to {percent(line['high'])})"


def _profile(cell: CellResult) -> str:
    return "; ".join(filter(None, (profile_text(v.profile) for v in cell.verdicts.values()))) or "-"


def ways_compared(results: Results) -> list[Line]:
    """Every way to answers, where the study names prompt programs; else nothing."""
    return WAYS.lines(ways(results))


def ways(results: Results) -> list[Way]:
    """What a study with prompt programs compares: base models, their programs, trained cells."""
    if not any(result.cell.evaluate.programs for result in results.cells.values()):
        return []
    found = dict[tuple[str, str, bool], list[CellResult]]()
    for result in results.cells.values():
        cell = result.cell
        named = ", ".join(cell.evaluate.programs)
        if not result.was_run or cell.evaluate.engine == "replay":
            continue
        if isinstance(cell, AskedCell) and not named:
            continue
        trained = isinstance(result, TrainedResult)
        name = training_name(result.cell) if isinstance(result, TrainedResult) else named or PLAIN
        found.setdefault((cell.title, name, trained), []).append(result)
    return [Way(*key, cells) for key, cells in found.items()]
