"""An algorithm is a value: its own settings in a study, in params.yaml, and nobody else's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.base.errors import UserError
from pipeline.config.algorithms import Ppo
from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.study_files import load_study
from tests.conftest import TINY


def expanded(folder: Path, train: dict[str, Any], algorithms: list[str]) -> Params:
    """The mini study with these changes, written and read again."""
    study = yaml.safe_load((TINY / "studies" / "mini.yaml").read_text())
    study["train"] |= train
    study["grid"] |= {"algorithms": algorithms, "models": ["nano"]}
    (folder / "mini.yaml").write_text(yaml.safe_dump(study))
    params = expand(load_study(folder / "mini.yaml"))
    return Params.model_validate(params.model_dump(mode="json"))


def test_a_cell_has_its_own_algorithm_fully_resolved(tmp_path: Path) -> None:
    given = {"algorithms": {"grpo": {"normalise_by_std": False}, "ppo": {"gae_decay": 0.9}}}
    cells = expanded(tmp_path, given, ["grpo", "ppo", "sft"]).cells
    found = [cell.model_dump()["algorithm"] for cell in cells.values() if cell.kind == "trained"]
    assert found == [
        {"name": "grpo", "normalise_by_std": False},
        Ppo(gae_decay=0.9).model_dump(),
        {"name": "sft", "imitates": "answers"},
    ]
    assert all("algorithms" not in (c.model_dump()["train"] or {}) for c in cells.values())


@pytest.mark.parametrize(
    ("train", "message"),
    [
        (
            {"algorithms": {"reinforce_plus_plus": {"value_clip": 0.1}}},
            "reinforce_plus_plus has no setting 'value_clip'; its own settings: none",
        ),
        (
            {"normalise_by_std": False},
            "normalise_by_std belongs to the algorithm grpo; a study writes train.algorithms: "
            "{grpo: {normalise_by_std: ...}}",
        ),
        ({"reward": {"preset": "tom-rl", "published": " "}}, "published: found ' '; allowed: "),
    ],
)
def test_a_setting_in_the_wrong_place_is_refused_by_name(
    tmp_path: Path, train: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError) as refused:
        expanded(tmp_path, train, ["grpo", "reinforce_plus_plus"])
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("rlvr", {"preset": "rlvr"}),
        ({"preset": "rlvr"}, {"preset": "rlvr"}),
        ("fidelity", {"preset": "fidelity", "weight": 0.5}),
        ({"preset": "fidelity", "weight": 0.2}, {"preset": "fidelity", "weight": 0.2}),
        ({"preset": "tom-rl", "published": "A re-run."},) * 2,
    ],
    ids=str,
)
def test_a_reward_is_a_name_or_a_preset_with_settings(
    tmp_path: Path, written: object, kept: object
) -> None:
    params = expanded(tmp_path, {"reward": written}, ["grpo"])
    assert params.cells["nano-hi"].model_dump()["train"]["reward"] == kept
