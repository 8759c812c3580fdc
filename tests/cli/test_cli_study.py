"""``tomrl study show`` prints what a study sets, and nothing that it leaves to the defaults."""

from __future__ import annotations

from pipeline.cli.recipe import recipe
from pipeline.config.study_files import find_study
from tests.conftest import PROJECT, TINY


def test_what_a_study_sets_is_said_by_its_field() -> None:
    lines = dict(recipe(find_study(TINY, "mini")))
    assert lines["acquire.arithmetic"] == "{kind: arithmetic, test: 200}"
    assert lines["train.rollouts"] == "16" and lines["train.reward"] == "{preset: rlvr}"
    assert lines["suite.tasks.hi_tom_order_3"] == "{task: hi_tom_style, orders: [3]}"
    assert lines["grid.models"] == "[nano, micro]"
    assert lines["cells"] == "nano-base, micro-base, nano-hi, micro-hi"
    assert not {"train.clip_range", "train.backend", "name", "title"} & lines.keys()


def test_arms_are_said_one_by_one() -> None:
    lines = dict(recipe(find_study(PROJECT, "sft-or-rl")))
    assert lines["grid.arms.grpo.algorithm"] == "{name: grpo}"
    assert lines["grid.arms.traces"] == (
        "{algorithm: {name: sft, imitates: traces}, learning_rate: 1e-05, epochs: 3, "
        "checkpoint: last}"
    )
