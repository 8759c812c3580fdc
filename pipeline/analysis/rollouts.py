"""What was sampled along a training: early beside late, and right beside wrong answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import pandas as pd

from pipeline.analysis.results import Results, TrainedResult
from pipeline.analysis.tables import Column, Line, Table
from pipeline.data.codec import read_dataset
from pipeline.evaluate import statistics
from pipeline.evaluate.statistics import Estimate
from pipeline.formats.plural import percent
from pipeline.judge.alarm import alarm_of
from pipeline.reward.fidelity import fidelity
from pipeline.tasks.example import Example
from pipeline.train.kept_rollouts import rows_of

REFLECTS = re.compile(
    r"\b(?:wait\b|hmm+\b|aha\b|on second thoughts?\b|i made a mistake|"
    r"re-?(?:check|think|consider|evaluate)\b|double-check|let(?:'s| me|us) verify)",
    re.IGNORECASE,
)
"""Words of somebody who goes back over what was thought."""

_READ = 200
"""Responses of a third of a training whose statements are checked."""

Examples = Mapping[str, Example]
"""By id."""


class Third(NamedTuple):
    """The first or the last third of a training's steps.

    Attributes:
        rows: What is kept of its rollouts.
        curve: The rows of its steps in ``metrics.jsonl``.
    """

    rows: pd.DataFrame
    curve: Sequence[Mapping[str, float]]

    @property
    def reflecting(self) -> Estimate:
        """Share of the responses that go back over what was thought."""
        found = [bool(REFLECTS.search(text)) for text in self.rows["response"]]
        return statistics.share(found, self.rows["id"].tolist())

    @property
    def entropy(self) -> float | None:
        found = [row["entropy"] for row in self.curve if "entropy" in row]
        return fmean(found) if found else None

    def true(self, examples: Examples) -> float | None:
        """Share of the statements about beliefs that hold, of some responses; None without any."""
        some = self.rows.iloc[:: max(1, len(self.rows) // _READ)]
        pairs = zip(some["response"], some["id"], strict=True)
        checked = [fidelity(text, examples[name]) for text, name in pairs if name in examples]
        made = sum(each.made for each in checked if each)
        return sum(each.true for each in checked if each) / made if made else None


def thirds(
    rows: pd.DataFrame, curve: Sequence[Mapping[str, float]] = ()
) -> tuple[Third, Third] | None:
    """The first and the last third; None of fewer than three steps, or without rollouts."""
    steps = int(rows["step"].max()) if len(rows) else 0
    if steps < 3:
        return None
    early, late = range(1, steps // 3 + 1), range(steps - steps // 3 + 1, steps + 1)
    first, last = (
        Third(rows[rows["step"].isin(part)], [row for row in curve if row["step"] in part])
        for part in (early, late)
    )
    return first, last


def longer_if_right(rows: pd.DataFrame) -> Estimate | None:
    """By what share of the mean length right responses are longer than wrong ones.

    Right and wrong ones are compared within a question of a step; None where none has both.
    """
    if rows.empty:
        return None
    means = rows.pivot_table("tokens", ["step", "id"], "right").reindex(columns=[False, True])
    both = means.dropna() / float(rows["tokens"].mean())
    if both.empty:
        return None
    return statistics.change(
        both[False].tolist(), both[True].tolist(), both.index.get_level_values("id").tolist()
    )


class Sampled(NamedTuple):
    """What a training sampled.

    Attributes:
        examples: The questions it was trained on.
    """

    result: TrainedResult
    first: Third
    last: Third
    examples: Examples


def _pair(name: str, text: Callable[[float | None], str]) -> Callable[[Line], str]:
    """The text of a figure early and late."""
    return lambda line: " → ".join(text(line[f"{name}_{when}"]) for when in ("first", "last"))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _tokens(third: Third) -> float:
    return float(third.rows["tokens"].mean())


def _longer(line: Line) -> str:
    found = line["longer_if_right"]
    return "-" if found is None else "{:+.1%} ({:+.1%} to {:+.1%})".format(*found)


def _alarm(each: Sampled) -> tuple[str, int] | None:
    found = alarm_of(rows_of(each.result.rollouts), each.examples)
    return None if found is None else (found.shortcut, found.step)


def _ends(found: Estimate | None) -> tuple[float, float, float] | None:
    return None if found is None else (found.value, found.low, found.high)


SAMPLED = Table[Sampled](
    Column("cell", lambda each: each.result.key, "cell"),
    Column(
        "reflecting_first",
        lambda each: each.first.reflecting.value,
        "reflect",
        _pair("reflecting", percent),
    ),
    Column("reflecting_last", lambda each: each.last.reflecting.value),
    Column(
        "true_first",
        lambda each: each.first.true(each.examples),
        "statements true",
        _pair("true", percent),
    ),
    Column("true_last", lambda each: each.last.true(each.examples)),
    Column(
        "tokens_first",
        lambda each: _tokens(each.first),
        "tokens",
        _pair("tokens", lambda value: f"{value:.0f}"),
    ),
    Column("tokens_last", lambda each: _tokens(each.last)),
    Column("entropy_first", lambda each: each.first.entropy, "entropy", _pair("entropy", _number)),
    Column("entropy_last", lambda each: each.last.entropy),
    Column(
        "alarm",
        _alarm,
        "takes up a shortcut",
        lambda line: "no" if line["alarm"] is None else "{}, step {}".format(*line["alarm"]),
    ),
    Column(
        "longer_if_right",
        lambda each: _ends(longer_if_right(each.result.rollouts)),
        "longer if right",
        _longer,
    ),
)


def sampled(results: Results, root: Path) -> list[Line]:
    """What each training sampled, first third of its steps beside the last."""
    found = [
        (result, both)
        for result in results.trained()
        if (both := thirds(result.rollouts, result.curve))
    ]
    folders = dict.fromkeys(result.cell.inputs for result, _ in found)
    examples = {
        folder: {row.example.id: row.example for row in read_dataset(root / folder / _TRAIN)}
        for folder in folders
    }
    return SAMPLED.lines(
        Sampled(result, *both, examples[result.cell.inputs]) for result, both in found
    )


_TRAIN = "train.parquet"
