"""Stage ``judge@cell``: do its answers follow beliefs or a rule, and is its reasoning faithful?

Where each question was answered several times, the first answers are judged.
"""

from __future__ import annotations

from collections.abc import Sequence

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
from pipeline.stages.followed.run import followed


def main(stage: Stage, key: str) -> None:
    """Judge one cell by the responses that were recorded."""
    stage.params.cell(key)
    folder = stage.runs / key
    asked, columns = stage.params.suite.columns, stage.params.suite.tasks
    metrics = folder / "evaluate" / "metrics.json"
    scores = Evaluation.read_of(metrics, asked, f"evaluate@{key}")
    target = folder / "judge" / "verdicts.json"
    claims = target.with_name("claims.parquet")
    if scores.absent is not None:
        write_claims(claims, {}, {})
        Verdicts(tasks={}, absent=scores.absent).write(target)
        print(f"judge {key}: absent: {scores.absent}")
        return
    suite = read_suite(stage.data / "suite", columns)
    answered = recorded_items(folder / "evaluate", suite, f"evaluate@{key}")
    tried = Tried.read(folder / "evaluate" / "tried.json", f"evaluate@{key}")
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
    with followed(stage, key):
        write_claims(claims, answered, stated)
        Verdicts(tasks=tasks).write(target)
    for task, verdict in tasks.items():
        print(
            f"judge {key}: {task}: {said_to_follow(verdict.answers, verdict.by)}, reasoning is "
            f"{verdict.reasoning}"
        )


def _verdict(
    columns: list[str], items: Sequence[Item], stated: Sequence[Statements | None], used: Used
) -> TaskVerdict:
    signatures = [each.as_json() for each in single_signatures(items)]
    return TaskVerdict.of(columns, judge(items, stated, used), signatures)


if __name__ == "__main__":
    run("judge", main, of_cell)
