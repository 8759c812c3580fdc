"""The verdict from Python: on lists of dictionaries, data frames or files of answers.

>>> import tomrl
>>> verdict = tomrl.judge(rows)  # doctest: +SKIP
>>> verdict.answers.follow, verdict.reasoning.is_  # doctest: +SKIP
('beliefs', 'faithful')

Rows have the columns that ``tomrl judge`` knows: story, question, answer and response, or names
that it guesses. Nothing here needs PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from pipeline.analysis.board import Entry
    from pipeline.analysis.compare import ColumnCompared
    from pipeline.analysis.frames import LoadedStudy
    from pipeline.judge.foreign import ForeignAnswers
    from pipeline.judge.verdict import Verdict

    Rows = str | PathLike[str] | pd.DataFrame | Iterable[Mapping[str, Any]]

__all__ = ["board", "compare", "judge", "load", "questions"]
_ASKED = ("story", "question", "choices", "answer", "order")


def questions(count: int = 600, *, seed: int = 0) -> list[dict[str, Any]]:
    """New questions about who believes what, with gold answers: what a model says to them can be
    judged.

    In a story three people move an object, leave, may return and make claims; it has a question of
    each belief order from 0 to 3.

    Raises:
        UserError: If ``count`` or ``seed`` is no whole number from 0.
    """
    from pipeline.base.errors import UserError
    from pipeline.config.sources import HiTomSource
    from pipeline.data.generated import stories

    for name, value in (("count", count), ("seed", seed)):
        if not isinstance(value, int) or value < 0:
            raise UserError(f"questions: {name}: found {value!r}; allowed: a whole number from 0")
    kind = HiTomSource(kind="hi_tom_style", agents=3, structure="free", tell=(True,), seed=seed)
    rows = map(dict[str, Any], chain.from_iterable(stories(kind, "test", count)))
    return [
        {"id": f"{seed}-{number}", **{name: row[name] for name in _ASKED}}
        for number, row in enumerate(islice(rows, count))
    ]


def judge(
    rows: Rows, *, benchmark: str | None = None, columns: Mapping[str, str] | None = None
) -> Verdict:
    """What answers follow, and what their reasoning is.

    Args:
        rows: Dictionaries, a data frame, or the path of a file.
        benchmark: The task whose questions were answered; by default the one whose parser reads
            most of the stories.
        columns: Fields by what they hold, where the guess is wrong: ``{"story": "actions"}``.

    Raises:
        UserError: If a row cannot be read; by its place.
    """
    return _answers(rows, benchmark, columns).judged(processes=1).verdict


def compare(
    first: Rows,
    second: Rows,
    *,
    benchmark: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> ColumnCompared | None:
    """Two models on the questions that both answered; None where there are none.

    Args and errors are those of :func:`judge`.
    """
    from pipeline.analysis.board import items_of_answers, side_by_side

    answers = (_answers(rows, benchmark, columns) for rows in (first, second))
    return side_by_side(*map(items_of_answers, answers))


def board(
    models: Mapping[str, Rows],
    *,
    benchmark: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> list[Entry]:
    """Models beside each other, the best first.

    Args:
        models: The answers of each, by its name.
        benchmark: As of :func:`judge`.
        columns: As of :func:`judge`.
    """
    from pipeline.analysis.board import board as board_of
    from pipeline.analysis.board import items_of_answers

    return board_of(
        {
            name: items_of_answers(_answers(rows, benchmark, columns))
            for name, rows in models.items()
        }
    )


def load(study: str | None = None, root: Path | None = None) -> LoadedStudy:
    """The results of a study of a checkout as data frames; see :class:`LoadedStudy`."""
    from pipeline.analysis.frames import load as load_study

    return load_study(study, root)


def _answers(
    rows: Rows, benchmark: str | None, columns: Mapping[str, str] | None
) -> ForeignAnswers:
    from pipeline.judge.foreign import ForeignAnswers

    source = Path(rows) if isinstance(rows, str | PathLike) else _dictionaries(rows)
    return ForeignAnswers.of(source, benchmark, columns)


def _dictionaries(rows: Any) -> list[Mapping[str, Any]]:
    if hasattr(rows, "to_dict"):
        found: list[Mapping[str, Any]] = rows.to_dict("records")
        return found
    return list(rows)
