"""A finished run is made longer, to the bytes of one that was so long from the start."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.config.expand import expand
from pipeline.config.study import Study
from pipeline.formats.files import folder_digests
from pipeline.stages import base, train
from pipeline.stages.common import Stage
from pipeline.stages.resume import StateOf
from pipeline.train.update import Updater
from tests.stages.made import make_data
from tests.stages.small import small_study

KEY = "nano-hi"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A checkout up to its base model, and its study, which validates at no odd step."""
    root = tmp_path_factory.mktemp("longer")
    study = small_study(root / "study")
    stage = staged(root / "root", study)
    make_data(stage.root, stage.params)
    base.main(Stage("base", stage.root, stage.params), "nano")
    return stage.root, study


def staged(root: Path, study: dict[str, Any], **train: Any) -> Stage:
    changed = {**study, "train": {**study["train"], **train}}
    return Stage("train", root, expand(Study.model_validate(changed)))


def results(stage: Stage) -> tuple[dict[str, str], str]:
    """The digests of the weights, and the curve with the checkpoints."""
    folder = stage.runs / KEY / "train"
    texts = [(folder / name).read_text() for name in ("metrics.jsonl", "checkpoints.json")]
    return folder_digests(stage.root / "weights" / "mini" / KEY), json.dumps(texts)


@pytest.fixture
def updates(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with each update."""
    taken, update = [], Updater.update
    monkeypatch.setattr(Updater, "update", lambda *given: (taken.append(1), update(*given))[1])
    return taken


def test_more_steps_go_on_from_the_last(
    made: tuple[Path, dict[str, Any]], tmp_path: Path, updates: list[int]
) -> None:
    whole, longer = (Path(shutil.copytree(made[0], tmp_path / name)) for name in "ab")
    train.main(staged(whole, made[1], steps=6), KEY)
    train.main(staged(longer, made[1], steps=3), KEY)  # measured after step 3, as it is the last
    (state,) = (longer / "work").glob("*/of.json")
    assert StateOf.read(state, "train") == StateOf(study="mini", cell=KEY, finished=3)
    del updates[:]
    train.main(staged(longer, made[1], steps=6), KEY)
    assert len(updates) == 3
    assert results(staged(longer, made[1])) == results(staged(whole, made[1]))

    train.main(staged(longer, made[1], steps=6), KEY)
    assert len(updates) == 9, "what is asked for again is made again"
    train.main(staged(longer, made[1], steps=2), KEY)
    assert len(updates) == 11, "what is shorter starts anew"


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
