"""Dynamic sampling: which groups are kept, how often is drawn, and going on after a stop."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from pipeline.base.errors import UserError
from pipeline.config.study_files import load_study
from pipeline.config.training import DynamicSampling
from pipeline.engine.decode import Completion
from pipeline.reward.reward import Reward
from pipeline.tasks.grading import Grade
from pipeline.train.contract import History
from pipeline.train.dynamic_sampling import draw
from pipeline.train.local import LocalTrainer
from pipeline.train.rollout import Rollouts
from tests.conftest import TINY
from tests.train import tiny
from tests.train.test_trainer import run_and_stop

WRONG = Grade(correct=False, strict=False, format_ok=False, extracted=None)


def rollouts(*groups: Sequence[float]) -> Rollouts:
    """Groups of two completions with these rewards; the first token says which group it is."""
    rows = tuple(tiny.rows(len(groups)))
    completions = tuple(Completion((int(10 * g[0]), 1), True) for g in groups for _ in g)
    rewards = tuple(Reward(score, 0.0, score, WRONG) for group in groups for score in group)
    return Rollouts(rows, completions, ("",) * len(rewards), rewards)


def scores(found: Rollouts) -> list[tuple[float, ...]]:
    each = [reward.score for reward in found.rewards]
    return [tuple(each[i : i + 2]) for i in range(0, len(each), 2)]


def test_groups_with_unlike_rewards_are_kept_until_the_batch_is_full() -> None:
    found = draw(
        iter(
            [
                rollouts((0, 0), (1, 0), (1, 1)),
                rollouts((0.1, 0.1), (0.5, 0), (1, 1)),
                rollouts((0.2, 0), (0.3, 0), (0, 0)),
                rollouts((0.9, 0), (0.9, 0), (0.9, 0)),
            ]
        ),
        most=10,
    )
    assert scores(found.rollouts) == [(1, 0), (0.5, 0), (0.2, 0)]
    assert [c.tokens[0] for c in found.rollouts.completions] == [10, 10, 5, 5, 2, 2]
    assert (found.draws, found.left_out) == (3, 5)
    assert found.rollouts.group == 2 and len(found.rollouts.rows) == 3


def test_the_bound_ends_the_drawing_and_the_first_left_out_fill_the_batch() -> None:
    endless = (rollouts((n, n), (n + 0.5, 0 if n == 1 else n + 0.5)) for n in count())
    found = draw(endless, most=3)
    assert scores(found.rollouts) == [(1.5, 0), (0, 0)]
    assert (found.draws, found.left_out) == (3, 5)


def test_what_is_left_out_is_what_has_no_deviation() -> None:
    generator = np.random.default_rng(0)
    groups = [tuple(generator.choice([0.0, 0.1, 1.1], 2)) for _ in range(40)]
    found = draw(iter([rollouts(*groups)]), most=1)
    without = sum(float(np.std(group)) == 0.0 for group in groups)
    assert found.left_out == without and 0 < without < 40


RECIPE = tiny.changed(dynamic_sampling=DynamicSampling(draws=3), entropy_coefficient=0.0, steps=4)


class Coin:
    """Pays by the text, so that some groups earn the same and others do not."""

    def __init__(self, run: LocalTrainer) -> None:
        self._judge = run._source.judge

    def __call__(self, rows: Any, completions: Any, draw: str = "") -> Rollouts:
        judged = self._judge(rows, completions, draw)
        paid = (float(sum(c.tokens) % 4 == 0) for c in completions)
        rewards = tuple(replace(r, score=s) for r, s in zip(judged.rewards, paid, strict=True))
        return replace(judged, rewards=rewards)


def trainer(work: Path) -> LocalTrainer:
    run = tiny.trainer(work, RECIPE)
    prepare = run._prepare

    def prepared() -> None:
        prepare()
        run._source.judge = Coin(run)  # type: ignore[assignment]

    run._prepare = prepared  # type: ignore[method-assign]
    return run


def drawn(history: History) -> Iterator[tuple[int, int]]:
    for step in history.steps[1:]:
        yield int(step.metrics["draws"]), int(step.metrics["groups_left_out"])


def test_a_stopped_run_ends_in_the_same_bytes(tmp_path: Path) -> None:
    history = run_and_stop(trainer, tmp_path, 1, 3)
    figures = list(drawn(history))
    assert {draws for draws, _ in figures} & {2, 3} and max(figures)[0] <= 3
    assert all(
        step.metrics["no_signal_share"] == 0
        for step in history.steps[1:]
        if step.metrics["draws"] < 3
    )


def test_without_it_nothing_of_it_is_written(tmp_path: Path) -> None:
    history = tiny.trainer(tmp_path, tiny.changed(steps=1)).run()
    assert not {"draws", "groups_left_out"} & set(json.dumps(history.rows()))
    assert (
        "lora" not in tiny.RECIPE.model_dump()
        and "dynamic_sampling" not in tiny.RECIPE.model_dump()
    )
    assert RECIPE.model_dump()["dynamic_sampling"] == {"draws": 3}


@pytest.mark.parametrize(
    ("train", "grid", "message"),
    [
        (
            {"dynamic_sampling": {}},
            {"algorithms": ["grpo", "ppo"]},
            "train.dynamic_sampling: found it with ppo, which compares no completions of a prompt; "
            "allowed with: grpo, rloo",
        ),
        (
            {},
            {
                "arms": {
                    "a": {"algorithm": "sft", "dynamic_sampling": {}},
                    "b": {"algorithm": "grpo"},
                }
            },
            "grid.arms.a.dynamic_sampling: found it with sft",
        ),
        (
            {"dynamic_sampling": {"draws": 1}},
            {},
            "train.dynamic_sampling.draws: found 1; allowed: 2 or more",
        ),
        ({"lora": {"rank": 0}}, {}, "train.lora.rank: found 0; allowed: 1 or more"),
        ({"lora": {"rank": 513}}, {}, "train.lora.rank: found 513; allowed: at most 512"),
        ({"lora": {"alpha": 0.5}}, {}, "train.lora.alpha: found 0.5; allowed: a whole number"),
    ],
)
def test_a_recipe_that_cannot_be_is_refused(
    tmp_path: Path, train: dict[str, Any], grid: dict[str, Any], message: str
) -> None:
    study = yaml.safe_load((TINY / "studies" / "mini.yaml").read_text())
    study["train"] |= train
    if "arms" in grid:
        study["grid"].pop("algorithms", None)
    study["grid"] |= grid
    (tmp_path / "mini.yaml").write_text(yaml.safe_dump(study))
    with pytest.raises(UserError) as refused:
        load_study(tmp_path / "mini.yaml")
    assert message in str(refused.value)
