"""Arms and seeds of a study: what its cells differ in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.params import AskedCell, Cell, Params, TrainedCell
from pipeline.config.study_files import load_study
from tests.conftest import TINY

ARMS: dict[str, dict[str, Any]] = {
    "grpo": {"algorithm": {"name": "grpo", "normalise_by_std": False}},
    "random": {"algorithm": "grpo", "reward": "random", "epochs": 0.5},
    "traces": {"algorithm": {"name": "sft", "imitates": "traces"}, "learning_rate": 0.01},
}


def expanded(folder: Path, **grid: Any) -> Params:
    """The tests' mini study with these cells, written and read again."""
    study = yaml.safe_load((TINY / "studies" / "mini.yaml").read_text())
    del study["grid"]["algorithms"]
    study["grid"] |= {"models": ["nano"], **grid}
    (folder / "mini.yaml").write_text(yaml.safe_dump(study))
    params = expand(load_study(folder / "mini.yaml"))
    return Params.model_validate(params.model_dump(mode="json"))


def trained_cell(cell: Cell) -> TrainedCell:
    assert isinstance(cell, TrainedCell)
    return cell


def trained(params: Params) -> dict[str, TrainedCell]:
    return {key: cell for key, cell in params.cells.items() if isinstance(cell, TrainedCell)}


def test_arms_change_what_they_name_and_nothing_else(tmp_path: Path) -> None:
    cells = trained(expanded(tmp_path, arms=ARMS))
    assert list(cells) == ["nano-hi-grpo", "nano-hi-random", "nano-hi-traces"]
    grpo, random, traces = cells.values()
    assert grpo.algorithm.model_dump() == {"name": "grpo", "normalise_by_std": False}
    assert random.train.reward.preset == "random" and grpo.train.reward.preset == "rlvr"
    assert (random.train.steps, random.train.epochs) == (None, 0.5)
    assert traces.train == grpo.train.model_copy(update={"learning_rate": 0.01})


def test_an_arm_without_thoughts_is_trained_and_evaluated_without_them(tmp_path: Path) -> None:
    cells = expanded(tmp_path, arms={**ARMS, "blunt": {"algorithm": "grpo", "think": False}}).cells
    thinks = {key: cell.evaluate.think for key, cell in cells.items()}
    assert [key for key, think in thinks.items() if not think] == ["nano-hi-blunt"]
    assert not trained_cell(cells["nano-hi-blunt"]).train.think
    assert trained_cell(cells["nano-hi-grpo"]).train.think


def test_data_hold_what_some_arm_imitates(tmp_path: Path) -> None:
    assert expanded(tmp_path, arms=ARMS).dataset["hi"].imitated == ("traces",)
    assert expanded(tmp_path, algorithms=["grpo", "sft"]).dataset["hi"].imitated == ("answers",)
    assert expanded(tmp_path, algorithms=["grpo"]).dataset["hi"].imitated == ()


def test_seeds_repeat_rollouts_from_one_base(tmp_path: Path) -> None:
    params = expanded(tmp_path, algorithms=["grpo"], seeds=[0, 3])
    assert list(params.cells) == ["nano-base", "nano-hi-s0", "nano-hi-s3"]
    assert list(params.base) == ["nano"] and list(params.dataset) == ["hi"]
    assert {cell.group for cell in trained(params).values()} == {"nano-hi"}


def test_seeds_repeat_everything_where_asked(tmp_path: Path) -> None:
    params = expanded(tmp_path, arms=ARMS, seeds=[0, 3], repeated="everything")
    seeds = {key: entry.seed for key, entry in params.base.items()}
    assert seeds == {"nano-s0": 0, "nano-s3": 3}
    assert {key: entry.seed for key, entry in params.dataset.items()} == {"hi-s0": 0, "hi-s3": 3}
    cell = trained(params)["nano-hi-grpo-s3"]
    assert (cell.model, cell.combination, cell.group) == ("nano-s3", "hi-s3", "nano-hi-grpo")
    assert cell.base.endswith("base/nano-s3/checkpoints.json")
    assert cell.inputs.endswith("combos/hi-s3") and cell.seed == 3
    assert [key for key in params.cells if key.endswith("-base")] == [
        f"{key}-base" for key in seeds
    ]


def test_shipped_models_are_numbered_by_seed(tmp_path: Path) -> None:
    text = (TINY / "studies" / "mini.yaml").read_text()
    text = text.replace("      size: nano\n", "      size: nano\n      shipped: nano\n")
    text = text.replace("models: [nano, micro]", "models: [nano]\n  seeds: [1, 4]")
    (tmp_path / "mini.yaml").write_text(text + "  repeated: everything\n")
    params = expand(load_study(tmp_path / "mini.yaml"))
    assert [entry.inputs for entry in params.base.values()] == ["models/nano-1", "models/nano-4"]


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        ({}, "give exactly one of algorithms and arms"),
        ({"algorithms": ["grpo"], "arms": ARMS}, "give exactly one of algorithms and arms"),
        ({"arms": {"a": {"algorithm": "dpo"}}}, "grid.arms.a.algorithm: found 'dpo'; allowed:"),
        ({"arms": {"a": {"algorithm": "grpo", "reward": "x"}}}, "grid.arms.a.reward: found 'x'"),
        ({"arms": {"a": {"algorithm": "grpo", "steps": 1, "epochs": 1}}}, "at most one of them"),
        ({"arms": {"a": {"algorithm": "sft", "think": False}}}, "which imitates whole responses"),
        ({"arms": {"A b": {"algorithm": "grpo"}}}, "grid.arms.A b"),
        (
            {"arms": {"a": {"algorithm": {"name": "sft", "imitates": "x"}}}},
            "grid.arms.a.algorithm",
        ),
    ],
)  # fmt: skip
def test_what_no_grid_can_be_is_said(tmp_path: Path, grid: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as refused:
        expanded(tmp_path, **grid)
    assert said in str(refused.value)


def crossed(folder: Path, **evaluate: Any) -> Params:
    """The tests' mini study, whose models are asked with two prompts."""
    study = yaml.safe_load((TINY / "studies" / "mini.yaml").read_text())
    study["grid"]["models"] = ["nano"]
    study["evaluate"] |= {"crossed": True, **evaluate}
    (folder / "mini.yaml").write_text(yaml.safe_dump(study))
    params = expand(load_study(folder / "mini.yaml"))
    return Params.model_validate(params.model_dump(mode="json"))


def test_both_models_are_asked_with_both_prompts(tmp_path: Path) -> None:
    cells = crossed(tmp_path, base_prompt="labelled").cells
    assert {key: (cell.kind, cell.evaluate.prompt) for key, cell in cells.items()} == {
        "nano-base": ("base", "labelled"),
        "nano-hi": ("trained", "compact"),
        "nano-base-crossed": ("asked", "compact"),
        "nano-hi-crossed": ("asked", "labelled"),
    }
    asked = cells["nano-hi-crossed"]
    assert isinstance(asked, AskedCell) and asked.of == "nano-hi"
    assert asked.base == "runs/mini/nano-hi/train/checkpoints.json"
    assert (asked.combination, asked.model) == ("hi", "nano")


@pytest.mark.parametrize("given", [{}, {"base_prompt": "compact"}])
def test_crossing_takes_two_prompts(tmp_path: Path, given: dict[str, str]) -> None:
    with pytest.raises(UserError, match="crossing takes two prompts: name another base_prompt"):
        crossed(tmp_path, **given)


CHAIN: dict[str, dict[str, Any]] = {
    "grpo": {"algorithm": "grpo", "starts_from": "warm"},
    "warm": {"algorithm": "sft", "combinations": ["hi"]},
    "more": {"algorithm": "grpo", "starts_from": {"arm": "grpo", "combination": "hi"}},
}


def test_a_cell_starts_from_the_weights_of_its_own_model_and_seed(tmp_path: Path) -> None:
    params = expanded(tmp_path, arms=CHAIN, seeds=[0, 3], repeated="everything")
    cell = trained(params)["nano-hi-more-s3"]
    assert cell.starts_from == "nano-hi-grpo-s3" and cell.model == "nano-s3"
    assert cell.base == "runs/mini/nano-hi-grpo-s3/train/checkpoints.json"
    assert params.weights_before(cell) == "weights/mini/nano-hi-grpo-s3"
    chain = [each.group for each in params.chain(cell)]
    assert chain == ["nano-hi-warm", "nano-hi-grpo", "nano-hi-more"]
    first = trained(params)["nano-hi-warm-s3"]
    assert "starts_from" not in first.model_dump() and first.base.endswith(
        "base/nano-s3/checkpoints.json"
    )


def test_an_arm_on_data_of_its_own_is_found_from_other_data(tmp_path: Path) -> None:
    """Imitation once, then RL on each set; and only what is imitated on a set is written there."""
    study = yaml.safe_load((TINY / "studies" / "mini.yaml").read_text())
    del study["grid"]["algorithms"]
    sets = study["dataset"]["combinations"]
    sets["easy"] = sets["hi"]
    arms = {"warm": {"algorithm": "sft", "combinations": ["easy"]}, "grpo": CHAIN["grpo"]}
    study["grid"] |= {"models": ["nano"], "combinations": ["easy", "hi"], "arms": arms}
    (tmp_path / "mini.yaml").write_text(yaml.safe_dump(study))
    params = expand(load_study(tmp_path / "mini.yaml"))
    assert {key: cell.starts_from for key, cell in trained(params).items()} == {
        "nano-easy-grpo": "nano-easy-warm",
        "nano-easy-warm": None,
        "nano-hi-grpo": "nano-easy-warm",
    }
    assert {key: entry.imitated for key, entry in params.dataset.items()} == {
        "easy": ("answers",),
        "hi": (),
    }


@pytest.mark.parametrize(
    ("arms", "said"),
    [
        (
            {"warm": {"algorithm": "sft", "starts_from": "more"}},
            "grid.arms.grpo.starts_from: closes a circle: grpo <- warm <- more <- grpo",
        ),
        ({"warm": {"algorithm": "sft", "starts_from": "warm"}}, "closes a circle: warm <- warm"),
        (
            {"warm": {"algorithm": "sft", "starts_from": "micro-hi-warm"}},
            "found 'micro-hi-warm'; allowed: another arm of the study (grpo, more), since a cell "
            "starts from the cell of its own model and seed",
        ),
        (
            {"warm": {"algorithm": "sft", "starts_from": {"arm": "grpo", "model": "micro"}}},
            "starts_from.model: there is no such field",
        ),
        (
            {"more": {"algorithm": "grpo", "starts_from": {"arm": "grpo", "combination": "x"}}},
            "grid.arms.more.starts_from.combination: found 'x'; allowed: what arm grpo trains on: "
            "hi",
        ),
        ({"warm": {"algorithm": "sft", "combinations": ["x"]}}, "allowed: hi (grid.combinations)"),
        (
            {"warm": {"algorithm": "sft", "starts_from": 3}},
            "found 3; allowed: the name of an arm, or {arm: NAME, combination: DATA}",
        ),
    ],
)  # fmt: skip
def test_what_no_chain_can_be_is_said(tmp_path: Path, arms: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as refused:
        expanded(tmp_path, arms=CHAIN | arms)
    assert said in str(refused.value)
