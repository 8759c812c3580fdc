"""Stage ``suite``: the examples of every column of the study, and how side-checks are asked.

What asks a model depends on this folder alone, so that a change of the marks of columns asks nobody
anything again.
"""

from __future__ import annotations

from pipeline.data.build import select
from pipeline.data.codec import write_examples
from pipeline.formats.files import replacing, write_json
from pipeline.stages.common import Stage, run
from pipeline.stages.sources import write_rules


def main(stage: Stage) -> None:
    """Write one parquet file per column of the result table."""
    target = stage.data / "suite"
    with replacing(target) as temporary:
        temporary.mkdir()
        for name, column in stage.params.suite.columns.items():
            examples = select(stage.raw, column, seed=0)
            write_examples(temporary / f"{name}.parquet", examples)
            print(f"suite {name}: {len(examples)} examples of task {column.task}")
        tasks = {column.task for column in stage.params.suite.columns.values()}
        write_rules(stage, "suite", tasks, temporary)
        checks = stage.params.suite.side_checks
        write_json(temporary / "side_checks.json", {k: c.model_dump() for k, c in checks.items()})


if __name__ == "__main__":
    run("suite", main)
