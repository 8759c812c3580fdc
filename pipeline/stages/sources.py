"""Stage ``sources``: for each task and dataset of the study, digests of the data and rules it uses.

A dataset depends on its own file here in place of all raw data, so that a change of one source
rebuilds what reads it and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pipeline.closure import closure
from pipeline.config.params import DatasetEntry
from pipeline.files import digest_of, folder_digests, remove_leftovers, replacing
from pipeline.records import Record
from pipeline.stages.code import CARRIERS, package_root
from pipeline.stages.common import Stage, run
from pipeline.tasks import registry


class TaskOrigin(Record):
    """What the rows of a task and their grades come from.

    Attributes:
        sources: Digest of each raw source.
        rules: Digest of the code that reads and grades the rows.
    """

    sources: dict[str, str | None]
    rules: str


class Origins(Record):
    """What the rows of several tasks come from, by task."""

    tasks: dict[str, TaskOrigin]


class Rules(Record):
    """Digest of the code that grades the rows of each task, beside the rows themselves.

    Whoever reads the rows depends on it by depending on their folder.
    """

    rules: dict[str, str]


def main(stage: Stage) -> None:
    """Write one file for each dataset, one for the suite, and one for each task that is there."""
    params = stage.params
    there = [t for t in registry.all_tasks() if all((stage.raw / s).is_dir() for s in t.sources)]
    used = {
        "suite": {column.task for column in params.suite.tasks.values()},
        **{f"dataset-{key}": _tasks_of(entry) for key, entry in params.dataset.items()},
        **{f"task-{task.name}": {task.name} for task in there},
    }
    target = stage.data / "sources"
    remove_leftovers(target.parent)
    with replacing(target) as temporary:
        temporary.mkdir()
        for name, tasks in used.items():
            _origins(stage, tasks).write(temporary / f"{name}.json")


def _tasks_of(entry: DatasetEntry) -> set[str]:
    probed = entry.probe.columns.values() if entry.probe else ()
    return {part.task for part in (*entry.train, *entry.validation, *probed)}


def _origins(stage: Stage, tasks: Iterable[str]) -> Origins:
    return Origins(tasks={name: _origin(stage, name) for name in sorted(tasks)})


def _origin(stage: Stage, name: str) -> TaskOrigin:
    task = registry.get(name)
    shared = registry.get(task.folds_like).sources if task.folds_like else ()
    sources = dict.fromkeys((*task.sources, *task.optional, *shared))
    return TaskOrigin(
        sources={source: _digest(stage, source) for source in sources}, rules=rules_of(name)
    )


def _digest(stage: Stage, source: str) -> str | None:
    folder = stage.raw / source
    return digest_of(folder_digests(folder))[:16] if folder.is_dir() else None


def write_rules(stage: Stage, name: str, folder: Path) -> None:
    """Write the grading rules of a dataset, or of the suite, into the folder of its rows."""
    path = stage.data / "sources" / f"{name}.json"
    origins = Origins.read(path, "sources").tasks
    rules = Rules(rules={task: origin.rules for task, origin in origins.items()})
    rules.write(folder / "rules.json")


def rules_of(task: str) -> str:
    """Return the digest of the code that reads and grades a task's rows."""
    return digest_of(closure(package_root(), [registry.module_of(task)], CARRIERS))[:16]


if __name__ == "__main__":
    run("sources", main)
