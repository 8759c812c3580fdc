"""Stage ``judge@cell``: do its answers follow beliefs or a rule, and is its reasoning faithful?

Where each question was answered several times, the first answers are judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.evaluate.records import Evaluation
from pipeline.evaluate.tried import Tried
from pipeline.judge.answers import said_to_follow
from pipeline.judge.claims import write_claims
from pipeline.judge.columns import judged_together
from pipeline.judge.items import Item
from pipeline.judge.reasoning import Statements, statements
from pipeline.judge.recorded import read_suite, recorded_items
from pipeline.judge.records import TaskVerdict, Verdicts
from pipeline.judge.signatures import single_signatures
from pipeline.judge.used import Used, used_of
from pipeline.judge.verdict import judge
from pipeline.stages.common import Stage, run
from pipeline.stages.expanded import of_cell
from pipeline.stages.followed import followed


@dataclass(frozen=True)
class Judged:
    """The verdicts on a cell, with what each of its responses states, by column."""

    verdicts: Verdicts
    answered: Mapping[str, Sequence[Item]] = field(default_factory=dict)
    stated: Mapping[str, Sequence[Statements | None]] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write the files of the stage into a folder."""
        write_claims(folder / "claims.parquet", self.answered, self.stated)
        self.verdicts.write(folder / "verdicts.json")


def main(stage: Stage, key: str) -> None:
    """Judge one cell by the responses that were recorded."""
    found, own = judged(stage, key), stage.of(key)
    if (absent := found.verdicts.absent) is not None:
        found.write(own.results)
        print(f"{own.title}: absent: {absent}")
        return
    with followed(own):
        found.write(own.results)
    for task, verdict in found.verdicts.tasks.items():
        print(
            f"{own.title}: {task}: {said_to_follow(verdict.answers, verdict.by)}, reasoning is "
            f"{verdict.reasoning}"
        )


def judged(stage: Stage, key: str) -> Judged:
    """The verdicts on one cell."""
    stage.params.cell(key)
    folder = stage.runs / key / "evaluate"
    asked, columns = stage.params.suite.columns, stage.params.suite.tasks
    scores = Evaluation.read_of(folder / "metrics.json", asked, f"evaluate@{key}")
    if scores.absent is not None:
        return Judged(Verdicts(tasks={}, absent=scores.absent))
    suite = read_suite(stage.data / "suite", columns)
    answered = recorded_items(folder, suite, f"evaluate@{key}")
    tried = Tried.read(folder / "tried.json", f"evaluate@{key}")
    stated = {name: [statements(item) for item in items] for name, items in answered.items()}
    tasks = {
        task: _verdict(
            names,
            [item for name in names for item in answered[name]],
            [said for name in names for said in stated[name]],
            used_of(tried, suite, names),
        )
        for task, names in judged_together(columns).items()
    }
    return Judged(Verdicts(tasks=tasks), answered, stated)


def _verdict(
    columns: list[str], items: Sequence[Item], stated: Sequence[Statements | None], used: Used
) -> TaskVerdict:
    signatures = [each.as_json() for each in single_signatures(items)]
    return TaskVerdict.of(columns, judge(items, stated, used), signatures)


if __name__ == "__main__":
    run("judge", main, of_cell)
