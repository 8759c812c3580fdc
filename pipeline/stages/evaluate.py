"""Stage ``evaluate@cell``: every task of the suite, graded by the rewards' own grader."""

from __future__ import annotations

from pipeline.data.codec import read_column
from pipeline.evaluate.runner import Asking
from pipeline.model.decode import Sampling
from pipeline.stages.common import Stage, run
from pipeline.stages.prompts import frame_of
from pipeline.stages.scoring import score_cell
from pipeline.tasks.example import Example


def main(stage: Stage, key: str) -> None:
    """Evaluate one cell."""
    score_cell(stage, key, *asked(stage, key))


def asked(stage: Stage, key: str) -> tuple[dict[str, list[Example]], Asking]:
    """Return what a cell is asked, by column, and how."""
    settings = stage.params.cell(key).evaluate
    columns = {
        name: read_column(stage.data / "suite" / f"{name}.parquet", column.task)
        for name, column in stage.params.suite.tasks.items()
    }
    sampling = Sampling(settings.max_new_tokens, settings.temperature, settings.top_p)
    frame = frame_of(stage, settings.prompt)
    asking = Asking(settings.prompt, sampling, frame, settings.think, settings.samples)
    return columns, asking


if __name__ == "__main__":
    run("evaluate", main)
