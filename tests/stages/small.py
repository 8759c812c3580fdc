"""The study mini at a size of seconds, trained by its stages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from pipeline.config.expand import expand
from pipeline.config.study import Study
from pipeline.formats.files import read_lines
from pipeline.stages import base, train
from pipeline.stages.common import Stage
from tests.conftest import shrink
from tests.stages.made import make_data


def small_study(folder: Path) -> dict[str, Any]:
    """The study; 90 training rows, 30 a step."""
    shrink(folder, prompts_per_step=30)
    study: dict[str, Any] = yaml.safe_load((folder / "studies" / "mini.yaml").read_text())
    return study


def trained(root: Path, study: dict[str, Any]) -> tuple[Stage, list[dict[str, Any]]]:
    """Train its cell; return the stage and the curve."""
    params = expand(Study.model_validate(study))
    make_data(root, params)
    base.main(Stage("base", root, params), "nano")
    stage = Stage("train", root, params)
    train.main(stage, "nano-hi")
    return stage, read_lines(stage.runs / "nano-hi" / "train" / "metrics.jsonl")
