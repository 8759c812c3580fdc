"""Stage ``sources``: for each task and dataset of the study, digests of the data and rules it uses.

Beside them stand the published prompts that the acquired files hold, see
:mod:`pipeline.stages.prompts`.

A dataset depends on its own file here in place of all raw data, so that a change of one source
rebuilds what reads it and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pipeline.base.closure import own_code
from pipeline.config.params import DatasetEntry
from pipeline.formats.files import digest_of, folder_digests, replacing, write_json
from pipeline.formats.records import Record, refuse_foreign
from pipeline.stages.common import Stage, run
from pipeline.stages.prompts import write_frames
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


def main(stage: Stage) -> None:
    """Write one file for each dataset, one for the suite, and one for each task that is there."""
    params = stage.params
    used = {
        "suite": {column.task for column in params.suite.columns.values()},
        **{f"dataset-{key}": tasks_of(entry) for key, entry in params.dataset.items()},
    }
    origins = _origins(stage, {task for tasks in used.values() for task in tasks})
    target = stage.data / "sources"
    with replacing(target) as temporary:
        temporary.mkdir()
        for name, tasks in used.items():
            found = Origins(tasks={task: origins[task] for task in sorted(tasks)})
            found.write(temporary / f"{name}.json")
        write_frames(stage.raw, temporary)


def tasks_of(entry: DatasetEntry) -> set[str]:
    return {part.task for part in (*entry.train, *entry.validation)}


def _origins(stage: Stage, names: Iterable[str]) -> dict[str, TaskOrigin]:
    """What each task's rows come from; a source that several read is digested once."""
    reads = {name: _sources_of(registry.get(name)) for name in names}
    every = {source for sources in reads.values() for source in sources}
    digests = {source: _digest(stage, source) for source in every}
    return {
        name: TaskOrigin(sources={s: digests[s] for s in sources}, rules=_rules_of(name))
        for name, sources in reads.items()
    }


def _sources_of(task: registry.Task) -> tuple[str, ...]:
    shared = registry.get(task.folds_like).sources if task.folds_like else ()
    return tuple(dict.fromkeys((*task.sources, *task.optional, *shared)))


def _digest(stage: Stage, source: str) -> str | None:
    folder = stage.raw / source
    return digest_of(folder_digests(folder))[:16] if folder.is_dir() else None


def _rules_of(task: str) -> str:
    return digest_of(own_code([registry.module_of(task)]))[:16]


def write_rules(stage: Stage, name: str, tasks: set[str], folder: Path) -> None:
    """Write digests of the rules that grade a dataset's tasks, or the suite's, beside its rows.

    Whoever reads the rows depends on them by depending on their folder.
    """
    path = stage.data / "sources" / f"{name}.json"
    origins = Origins.read(path, "sources").tasks
    refuse_foreign(path, "tasks", origins, tasks, "sources")
    rules = {task: origin.rules for task, origin in origins.items()}
    write_json(folder / "rules.json", {"rules": rules})


if __name__ == "__main__":
    run("sources", main)
