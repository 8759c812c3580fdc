"""Stage ``suite``: the examples of every column of the study, and how side-checks are asked.

What asks a model depends on this folder alone, so that a change of the marks of columns asks nobody
anything again.
"""

from __future__ import annotations

from pipeline.base.errors import UserError
from pipeline.data.build import select
from pipeline.data.codec import write_examples
from pipeline.data.imitation import demonstrated
from pipeline.formats.files import replacing, write_json
from pipeline.stages.common import DEMONSTRATIONS, Stage, run
from pipeline.stages.sources import write_rules
from pipeline.tasks.example import Example


def main(stage: Stage) -> None:
    """Write one parquet file per column of the result table."""
    target = stage.data / "suite"
    with replacing(target) as temporary:
        temporary.mkdir()
        told = set[str]()
        for name, column in stage.params.suite.columns.items():
            examples = select(stage.raw, column, seed=0)
            told |= {example.story_id for example in examples}
            write_examples(temporary / f"{name}.parquet", examples)
            print(f"suite {name}: {len(examples)} examples of task {column.task}")
        if (shown := stage.params.suite.demonstrations) is not None:
            demonstrations = demonstrated(_apart(select(stage.raw, shown, seed=0), told))
            write_examples(temporary / DEMONSTRATIONS, demonstrations)
        tasks = {column.task for column in stage.params.suite.columns.values()}
        write_rules(stage, "suite", tasks, temporary)
        checks = stage.params.suite.side_checks
        write_json(temporary / "side_checks.json", {k: c.model_dump() for k, c in checks.items()})


def _apart(demonstrations: list[Example], told: set[str]) -> list[Example]:
    """Demonstrations, of whose stories none is asked about."""
    if common := [each for each in demonstrations if each.story_id in told]:
        raise UserError(
            f"suite.demonstrations: {len(common)} of {len(demonstrations)} questions are about "
            "stories of the suite, whose answers they would show; take them from a task that no "
            "column asks, such as hi_tom_style_train"
        )
    return demonstrations


if __name__ == "__main__":
    run("suite", main)
