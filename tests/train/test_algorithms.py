"""Advantages and losses, against their definitions and against verl's own functions."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple, get_args

import pytest
import torch
from torch import Tensor

from pipeline.config.algorithms import Aggregation, Algorithm, Grpo, with_defaults
from pipeline.train.algorithms import (
    Signal,
    at_last_token,
    estimate,
    gae_advantages,
    grpo_advantages,
    reward_to_go,
)
from pipeline.train.losses import (
    Clip,
    kl_estimate,
    loss_count,
    loss_sum,
    policy_loss,
    value_loss,
)

TOLERANCE = {"atol": 1e-6, "rtol": 1e-6}


class Batch(NamedTuple):
    """A random batch of outcome rewards."""

    rewards: Tensor  # [B, T], on the last token
    mask: Tensor  # [B, T]
    group: int

    @property
    def index(self) -> object:
        """The prompt of each response, as verl wants it."""
        prompts = len(self.rewards) // self.group
        return torch.arange(prompts).repeat_interleave(self.group).numpy()


def make(prompts: int, group: int, tokens: int, seed: int, shortest: int = 1) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randint(0, 3, (prompts * group,), generator=generator).float()
    scores[:group] = 1.0  # a group without any signal
    lengths = torch.randint(shortest, tokens + 1, (prompts * group,), generator=generator)
    mask = torch.arange(tokens) < lengths.unsqueeze(1)
    return Batch(at_last_token(scores, mask), mask, group)


BATCHES = {
    **{f"ragged {seed}": make(6, 4, 9, seed) for seed in range(5)},
    "one response per prompt": make(5, 1, 7, 0),
    "one group": make(1, 8, 6, 1),
    "length 1": make(4, 4, 1, 2),
    "some fully masked": make(5, 4, 6, 3, shortest=0),
    "no signal at all": make(1, 3, 4, 4),
}


@pytest.fixture(scope="module")
def core() -> ModuleType:
    return import_module("verl.trainer.ppo.core_algos")


@pytest.fixture(params=list(BATCHES.values()), ids=list(BATCHES))
def batch(request: pytest.FixtureRequest) -> Batch:
    return request.param  # type: ignore[no-any-return]


AGGREGATIONS = get_args(Aggregation)


def advantages(algorithm: Algorithm, rewards: Tensor, mask: Tensor, group: int) -> Tensor:
    return estimate(algorithm, Signal(rewards, mask, group)).advantage


def random_like(batch: Batch, count: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(9)
    return [torch.randn(batch.mask.shape, generator=generator) for _ in range(count)]


def aggregate(losses: Tensor, batch: Batch, aggregation: str) -> Tensor:
    """The loss; verl takes the width of the batch for the longest response."""
    count = loss_count(batch.mask, aggregation, batch.mask.shape[1])
    return loss_sum(losses, batch.mask, aggregation) / count


@pytest.mark.verl
def test_grpo_agrees_with_verl(core: ModuleType, batch: Batch) -> None:
    for by_std in (True, False):
        theirs, _ = core.compute_grpo_outcome_advantage(
            batch.rewards, batch.mask.float(), batch.index, norm_adv_by_std_in_grpo=by_std
        )
        ours = advantages(Grpo(normalise_by_std=by_std), batch.rewards, batch.mask, batch.group)
        torch.testing.assert_close(ours, theirs, **TOLERANCE)


@pytest.mark.verl
def test_reinforce_plus_plus_agrees_with_verl(core: ModuleType, batch: Batch) -> None:
    config = SimpleNamespace(gamma=1.0)
    for rewards in (batch.rewards, random_like(batch, 1)[0] * batch.mask):
        theirs, returns = core.compute_reinforce_plus_plus_outcome_advantage(
            rewards, batch.mask.float(), config=config
        )
        ours = advantages(with_defaults("reinforce_plus_plus"), rewards, batch.mask, batch.group)
        torch.testing.assert_close(ours, theirs, **TOLERANCE)
        torch.testing.assert_close(reward_to_go(rewards) * batch.mask, returns, **TOLERANCE)


@pytest.mark.verl
@pytest.mark.parametrize(("discount", "decay"), [(1.0, 1.0), (0.9, 0.95), (1.0, 0.0)])
def test_gae_agrees_with_verl(
    core: ModuleType, batch: Batch, discount: float, decay: float
) -> None:
    penalty, values = random_like(batch, 2)
    rewards = (batch.rewards + 0.1 * penalty) * batch.mask
    theirs, returns = core.compute_gae_advantage_return(
        rewards, values * batch.mask, batch.mask.float(), discount, decay
    )
    ours, our_returns = gae_advantages(rewards, values, batch.mask, discount=discount, decay=decay)
    torch.testing.assert_close(ours, theirs * batch.mask, **TOLERANCE)
    torch.testing.assert_close(our_returns, returns * batch.mask, **TOLERANCE)


@pytest.mark.verl
def test_all_masked_agrees_with_verl_or_verl_refuses_it(core: ModuleType) -> None:
    mask, index = torch.zeros(4, 3), torch.tensor([0, 0, 1, 1]).numpy()
    rewards = at_last_token(torch.tensor([1.0, 0.0, 1.0, 1.0]), mask.bool())
    theirs, _ = core.compute_grpo_outcome_advantage(rewards, mask, index)
    ours = advantages(with_defaults("grpo"), rewards, mask.bool(), 2)
    torch.testing.assert_close(ours, theirs, **TOLERANCE)
    with pytest.raises(ValueError, match="mask"):
        core.compute_reinforce_plus_plus_outcome_advantage(
            rewards, mask, config=SimpleNamespace(gamma=1.0)
        )
    with pytest.raises(ValueError, match="mask"):
        core.compute_gae_advantage_return(rewards, mask, mask, 1.0, 1.0)


@pytest.mark.verl
@pytest.mark.parametrize("kind", ["kl", "mse", "low_var_kl"])
def test_kl_estimates_agree_with_verl(core: ModuleType, kind: str) -> None:
    one, other = 8 * torch.randn(5, 7), 8 * torch.randn(5, 7)
    torch.testing.assert_close(kl_estimate(one, other, kind), core.kl_penalty(one, other, kind))


def actor_config(clip: Clip) -> Any:
    """verl's configuration of an actor with these clip ranges."""
    from verl.workers.config.actor import ActorConfig

    return ActorConfig(
        strategy="fsdp",
        rollout_n=1,
        ppo_micro_batch_size_per_gpu=1,
        clip_ratio_low=clip.low,
        clip_ratio_high=clip.high,
        clip_ratio_c=clip.dual,
    )


@pytest.mark.verl
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize("clip", [Clip(dual=3.0), Clip(0.2, 0.28, 3.0), Clip(0.1, 0.3, 1e9)])
def test_policy_loss_agrees_with_verl(
    core: ModuleType, batch: Batch, clip: Clip, aggregation: str
) -> None:
    old, new, advantage = random_like(batch, 3)
    config = actor_config(clip)
    theirs, metrics = core.compute_policy_loss_vanilla(
        old, new, advantage, batch.mask.float(), aggregation, config
    )
    loss = policy_loss(new, old, advantage, clip)
    ours = aggregate(loss.losses, batch, aggregation)
    torch.testing.assert_close(ours, theirs, **TOLERANCE)
    clipped = float(loss.clipped[batch.mask].float().mean())
    assert clipped == pytest.approx(metrics["actor/pg_clipfrac"], abs=1e-6)


@pytest.mark.verl
def test_the_length_that_sums_are_divided_by_agrees_with_verl(
    core: ModuleType, batch: Batch
) -> None:
    losses, longest, way = random_like(batch, 1)[0], 50, "seq-mean-token-sum-norm"
    theirs = core.agg_loss(losses, batch.mask.float(), way, loss_scale_factor=longest)
    ours = loss_sum(losses, batch.mask, way) / loss_count(batch.mask, way, longest)
    torch.testing.assert_close(ours, theirs, **TOLERANCE)


def test_dual_clip_off_is_plain_ppo(batch: Batch) -> None:
    old, new, advantage = random_like(batch, 3)
    plain = policy_loss(new, old, advantage, Clip()).losses
    torch.testing.assert_close(policy_loss(new, old, advantage, Clip(dual=1e9)).losses, plain)


@pytest.mark.verl
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_value_loss_agrees_with_verl(core: ModuleType, batch: Batch, aggregation: str) -> None:
    values, old, returns = random_like(batch, 3)
    theirs, _ = core.compute_value_loss(
        values, returns, old, batch.mask.float(), 0.5, loss_agg_mode=aggregation
    )
    losses = value_loss(values, old, returns, 0.5)
    ours = aggregate(losses, batch, aggregation)
    torch.testing.assert_close(ours, theirs, **TOLERANCE)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_sums_of_parts_add_up_to_the_whole(batch: Batch, aggregation: str) -> None:
    losses = random_like(batch, 1)[0]
    parts = zip(losses.split(2), batch.mask.split(2), strict=True)
    together = sum(loss_sum(one, mask, aggregation) for one, mask in parts)
    torch.testing.assert_close(together, loss_sum(losses, batch.mask, aggregation))


def test_nothing_to_learn_from_gives_zeros() -> None:
    mask = torch.zeros(4, 3, dtype=torch.bool)
    rewards = at_last_token(torch.ones(4), mask)
    for name in ("grpo", "reinforce_plus_plus", "sft"):
        assert (advantages(with_defaults(name), rewards, mask, 2) == 0).all()
    assert (gae_advantages(rewards, torch.ones(4, 3), mask)[0] == 0).all()
    assert all(loss_sum(torch.ones(4, 3), mask, mode) == 0 for mode in AGGREGATIONS)
    for mode in AGGREGATIONS:
        assert loss_count(mask, mode, 3) == (3 if mode == "seq-mean-token-sum-norm" else 1)


@pytest.mark.parametrize("reward", [0.1, 0.6, 1.1])
@pytest.mark.parametrize("group", [2, 3, 10, 16])
def test_equal_rewards_teach_nothing_whatever_they_are(reward: float, group: int) -> None:
    mask = torch.ones(2 * group, 3, dtype=torch.bool)
    rewards = torch.full((2 * group,), reward)
    rewards[group] += 1
    found = grpo_advantages(at_last_token(rewards, mask), mask, group)
    assert (found[:group] == 0).all() and (found[group:] != 0).all()


def test_the_outcome_stands_on_the_last_token() -> None:
    mask = torch.tensor([[True, True, False], [True, True, True]])
    placed = at_last_token(torch.tensor([2.0, 3.0]), mask)
    assert placed.tolist() == [[0, 2, 0], [0, 0, 3]]
    assert reward_to_go(placed).tolist() == [[2, 2, 0], [3, 3, 3]]


def test_clipping_stops_a_ratio_that_has_moved_enough() -> None:
    new = torch.tensor([[1.0, 0.0]], requires_grad=True)
    loss = policy_loss(new, torch.zeros(1, 2), torch.ones(1, 2), Clip())
    loss.losses.sum().backward()
    assert new.grad is not None
    assert new.grad[0, 0] == 0 and new.grad[0, 1] == -1
    assert loss.clipped.tolist() == [[True, False]]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="k9"):
        kl_estimate(torch.zeros(1), torch.zeros(1), "k9")
    with pytest.raises(ValueError, match="median"):
        loss_count(torch.ones(1, 1), "median", 1)
