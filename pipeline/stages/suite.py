"""Stage ``suite``: the examples of every evaluation task of the study."""

from __future__ import annotations

from pipeline.data.build import select
from pipeline.data.codec import write_examples
from pipeline.formats.files import replacing
from pipeline.stages.common import Stage, run
from pipeline.stages.sources import write_rules


def main(stage: Stage) -> None:
    """Write one parquet file per column of the result table."""
    target = stage.data / "suite"
    with replacing(target) as temporary:
        temporary.mkdir()
        for name, column in stage.params.suite.tasks.items():
            examples = select(stage.raw, column, seed=0)
            write_examples(temporary / f"{name}.parquet", examples)
            print(f"suite {name}: {len(examples)} examples of task {column.task}")
        tasks = {column.task for column in stage.params.suite.tasks.values()}
        write_rules(stage, "suite", tasks, temporary)


if __name__ == "__main__":
    run("suite", main)
