"""``tomrl study show`` says what is true of a study, and nothing that is not."""

from __future__ import annotations

import pytest

from pipeline.cli.recipe import recipe
from pipeline.config.study import Study
from pipeline.config.study_files import find_study
from tests.conftest import PROJECT, TINY


def shown(name: str, names: tuple[str, ...] = ("grpo",), **train: object) -> dict[str, str]:
    content = find_study(TINY if name == "mini" else PROJECT, name).model_dump()
    content["train"] |= train
    content["grid"]["algorithms"] = names
    return dict(recipe(Study.model_validate(content)))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "low_var_kl, coefficient 0.001, as a loss term"),
        ({"kl_in_reward": True, "kl_kind": "kl"}, "kl, coefficient 0.001, off the reward of each "
         "token"),
        ({"kl_coefficient": 0, "kl_in_reward": True}, "no penalty"),
    ],
)  # fmt: skip
def test_where_the_kl_penalty_goes(settings: dict[str, object], said: str) -> None:
    assert shown("mini", **settings)["KL"] == said


def test_settings_of_the_algorithms() -> None:
    own = {"grpo": {"normalise_by_std": False}, "ppo": {"value_learning_rate": 1e-5}}
    ppo = shown("mini", ("grpo", "ppo"), algorithms=own)
    assert ppo["algorithms"] == (
        "grpo (normalise_by_std false); ppo (value_learning_rate 1e-05, value_clip 0.5, discount "
        "1.0, gae_decay 1.0)"
    )
    sft = shown("mini", ("sft",))
    assert sft["batch"] == "16 prompts, 1 update per step"
    assert not {"reward", "KL", "clip range", "sampling", "entropy bonus"} & sft.keys()


def test_lengths_and_numbers() -> None:
    lines = shown("mini", steps=1, rollouts=1, updates_per_batch=3, checkpoint="last")
    assert lines["batch"] == "16 prompts x 1 rollout = 16 responses, 3 updates per step"
    assert lines["length"] == "1 step, validation every 10, checkpoints every 40"
    assert lines["evaluated checkpoint"] == "last"
    assert shown("mini")["evaluated checkpoint"] == "best on validation"
    assert "clip" not in shown("mini", dual_clip=None)["clip range"]
    assert shown("mini", clip_range_high=0.3, dual_clip=3)["clip range"] == (
        "0.2 below, 0.3 above, dual clip 3"
    )


def test_reward_prompts_and_models() -> None:
    fidelity = {"preset": "fidelity", "weight": 0.4}
    assert shown("mini", reward=fidelity)["reward"] == "fidelity, weight 0.4, pays strict matches"
    assert shown("mini-real")["reward"] == "tom-rl-strict, pays strict matches"
    lines = shown("tom-rl")
    assert lines["evaluated only"].startswith("GPT-4o (behind an API), ")
    assert lines["evaluation prompt"] == "tom-rl; of base and API models: tom-rl-json"
    assert shown("mini")["evaluation"] == "engine hf, greedy, response at most 48 tokens"


def test_data_name_their_conditions() -> None:
    lines = shown("next-ppo", ("ppo",))
    assert lines["data fan, train"] == "900 of fantom_yes_no, train fold"
    assert "630 of explore_tom_sample, needs_tom true, train fold" in lines["data exp, train"]
