"""Training goes on from a named state, and only from one of the same run."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.study import Study
from pipeline.formats.files import read_lines
from pipeline.stages import train
from pipeline.stages.common import Stage
from pipeline.train import local
from pipeline.train.local import step_metrics
from pipeline.train.stopping import Interrupted
from tests.stages.small import small_study, trained


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Stage, Path, dict[str, Any]]:
    """A stage whose training was stopped after 2 of 4 steps, its state, its study."""
    tmp_path = tmp_path_factory.mktemp("stopped")
    study, steps = small_study(tmp_path / "study"), [0]

    def stopping(*arguments: Any) -> dict[str, Any]:
        steps[0] += 1
        if steps[0] == 2:
            signal.raise_signal(signal.SIGTERM)
        return step_metrics(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "step_metrics", stopping)
        with pytest.raises(Interrupted, match="stopped after step 2 of 4"):
            trained(tmp_path / "root", study)
    stage = Stage("train", tmp_path / "root", expand(Study.model_validate(study)))
    state = next(path.parent for path in (stage.root / "work").glob("*/state"))
    copy = shutil.copytree(state, tmp_path / "a copy")
    shutil.rmtree(state)
    return stage, copy, study


def test_it_goes_on_from_the_state_it_is_given(
    stopped: tuple[Stage, Path, dict[str, Any]], updates: list[int]
) -> None:
    stage, copy, _ = stopped
    train.main(stage, "nano-hi", "--resume", str(copy))
    rows = read_lines(stage.runs / "nano-hi" / "train" / "metrics.jsonl")
    assert [row["step"] for row in rows] == [0, 1, 2, 3, 4]
    assert len(updates) == 2
    assert (copy / "state").is_dir()


def test_state_of_another_run_is_refused_by_what_differs(
    stopped: tuple[Stage, Path, dict[str, Any]],
) -> None:
    stage, copy, study = stopped
    other = {**study, "train": {**study["train"], "learning_rate": 0.01}}
    changed = Stage("train", stage.root, expand(Study.model_validate(other)))
    with pytest.raises(UserError, match=r"train\.learning_rate was 0\.0004, is 0\.01\. Restore"):
        train.main(changed, "nano-hi", "--resume", str(copy))
    with pytest.raises(UserError, match=r"found no made_from\.json there"):
        train.main(stage, "nano-hi", "--resume", str(copy.parent))
