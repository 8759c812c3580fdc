"""A stage with an empty body, for :mod:`benchmarks.sweep`: it only copies results that were made.

``python -m benchmarks.empty_stage STAGE [KEY]`` starts and ends as the stage itself does, and tells
MLflow of it, but for the work between.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path

import yaml

from pipeline.stages import common
from pipeline.stages.common import Stage
from pipeline.stages.followed import followed

MADE = "TOMRL_BENCHMARK_MADE"
"""The variable that names the folder of made results, laid out as a checkout."""
_OF_CELLS = ("train", "evaluate", "judge")


def outputs(root: Path, name: str, key: str, study: str) -> list[str]:
    """What a stage writes, by dvc.yaml."""
    entry = yaml.safe_load((root / "dvc.yaml").read_text(encoding="utf-8"))["stages"][name]
    outs = entry.get("do", entry)["outs"]
    named = {"${name}": study, "${key}": key, "${item}": key}
    return [re.sub(r"\$\{\w+\}", lambda found: named[found.group()], out) for out in outs]


def copy_made(stage: Stage, key: str = "") -> None:
    """Write what the stage would, from made results; empty where nobody made any."""
    made = Path(os.environ[MADE])
    with ExitStack() as stack:
        if stage.name in _OF_CELLS:
            stack.enter_context(followed(stage.of(key)))
        for name in outputs(stage.root, stage.name, key, stage.study):
            target = stage.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (made / name).is_dir():
                shutil.copytree(made / name, target)
            elif (made / name).is_file():
                shutil.copy(made / name, target)
            elif target.suffix:
                target.touch()
            else:
                target.mkdir()


if __name__ == "__main__":
    stage_name = sys.argv.pop(1)
    common.run(stage_name, copy_made)
