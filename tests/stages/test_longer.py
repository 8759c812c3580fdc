"""A finished run is made longer; test_along.py compares it with one that was so long at once."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.config.expand import expand
from pipeline.config.study import Study
from pipeline.stages import base, train
from pipeline.stages.common import Stage
from pipeline.stages.resume import StateOf
from tests.stages.made import make_data
from tests.stages.small import small_study

KEY = "nano-hi"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A checkout up to its base model, and its study."""
    root = tmp_path_factory.mktemp("longer")
    study = small_study(root / "study")
    stage = staged(root / "root", study)
    make_data(stage.root, stage.params)
    base.main(Stage("base", stage.root, stage.params), "nano")
    return stage.root, study


def staged(root: Path, study: dict[str, Any], **train: Any) -> Stage:
    changed = {**study, "train": {**study["train"], **train}}
    return Stage("train", root, expand(Study.model_validate(changed)))


def test_more_steps_go_on_from_the_last(
    made: tuple[Path, dict[str, Any]], tmp_path: Path, updates: list[int]
) -> None:
    longer = Path(shutil.copytree(made[0], tmp_path / "root"))
    train.main(staged(longer, made[1], steps=3), KEY)
    (state,) = (longer / "work").glob("*/of.json")
    assert StateOf.read(state, "train") == StateOf(study="mini", cell=KEY, finished=3)
    train.main(staged(longer, made[1], steps=6), KEY)
    assert len(updates) == 6

    train.main(staged(longer, made[1], steps=6), KEY)
    assert len(updates) == 12, "what is asked for again is made again"
    train.main(staged(longer, made[1], steps=2), KEY)
    assert len(updates) == 14, "what is shorter starts anew"


@pytest.mark.parametrize("other", [{"learning_rate": 0.002}, {"learning_rate_schedule": "linear"}])
def test_what_else_has_changed_starts_anew(
    made: tuple[Path, dict[str, Any]], tmp_path: Path, updates: list[int], other: dict[str, Any]
) -> None:
    root = Path(shutil.copytree(made[0], tmp_path / "root"))
    train.main(staged(root, made[1], steps=2), KEY)
    train.main(staged(root, made[1], steps=3, **other), KEY)
    assert len(updates) == 5
    kept = [*(root / "work").glob("*/of.json")]
    assert len(kept) == (0 if "learning_rate_schedule" in other else 1), "one for each cell"
