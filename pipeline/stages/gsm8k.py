"""Stage ``gsm8k@cell``: does training on stories cost arithmetic?

The task is GSM8K where the study has it, else generated arithmetic, which is named as such.
"""

from __future__ import annotations

from pipeline.config.data import Part
from pipeline.data.build import select
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.runner import Asking
from pipeline.stages.common import Stage, run
from pipeline.stages.expanded import of_cell
from pipeline.stages.scoring import score_cell
from pipeline.tasks.example import Example


def main(stage: Stage, key: str) -> None:
    """Check one cell."""
    score_cell(stage, key, *asked(stage, key))


def asked(stage: Stage, key: str) -> tuple[dict[str, list[Example]], Asking]:
    """Return what a cell is asked, by column, and how."""
    check = stage.params.cell(key).gsm8k
    examples = select(stage.raw, Part(task=check.task, limit=check.limit), seed=0)
    sampling = Sampling(check.max_new_tokens, temperature=0)
    return {check.task: examples}, Asking(check.prompt, sampling)


if __name__ == "__main__":
    run("gsm8k", main, of_cell)
