"""The figures of a step, against numbers worked out by hand or by the plain computation."""

from __future__ import annotations

import copy
import math

import pytest
import torch

from pipeline.config.algorithms import with_defaults
from pipeline.engine.decode import Completion
from pipeline.engine.halves import Halves
from pipeline.reward.reward import Earned, Reward
from pipeline.tasks.grading import Grade
from pipeline.train.algorithms import Signal, at_last_token, estimate
from pipeline.train.learner import Learner
from pipeline.train.local import step_metrics
from pipeline.train.losses import kl_estimate
from pipeline.train.rollout import Rollouts
from pipeline.train.scoring import plain_states
from pipeline.train.update import UpdateStatistics
from tests.train import tiny

STATISTICS = UpdateStatistics(0.5, 0.01, 1.5, 0.0, 0.9, 2.0)


def reward(format_ok: bool, correct: bool) -> Reward:
    grade = Grade(correct=correct, strict=correct, format_ok=format_ok, extracted=None)
    return Reward(Earned(0.1 * format_ok, float(correct)), grade, correct)


def test_every_figure_of_a_step() -> None:
    lengths = (1, 2, 2, 4, 5, 9)
    completions = tuple(Completion((7,) * n, n < 9) for n in lengths)
    right, wrong, broken = reward(True, True), reward(True, False), reward(False, False)
    rewards = (right, right, right, right, wrong, broken)
    found = step_metrics(Rollouts(tuple(tiny.rows(2)), completions, ("",) * 6, rewards), STATISTICS)
    scores = (1.1, 1.1, 1.1, 1.1, 0.1, 0.0)
    centre = sum(scores) / 6
    assert found == {
        "reward_mean": pytest.approx(4.5 / 6),
        "reward_std": pytest.approx(math.sqrt(sum((s - centre) ** 2 for s in scores) / 6)),
        "format_reward_mean": pytest.approx(0.5 / 6),
        "answer_reward_mean": pytest.approx(4 / 6),
        "accuracy": pytest.approx(4 / 6),
        "format_rate": pytest.approx(5 / 6),
        "length_mean": pytest.approx(23 / 6),
        "length_median": 3,
        "length_p95": 8.0,  # three quarters of the way from 5 to 9
        "unfinished_share": pytest.approx(1 / 6),
        "no_signal_share": 0.5,
        "distinct_share": pytest.approx((2 / 3 + 1) / 2),  # two of the first three are the same
        **STATISTICS.metrics(),
    }


def test_the_figures_of_an_update_are_those_of_the_plain_computation() -> None:
    model, _ = tiny.base()
    reference = copy.deepcopy(model).requires_grad_(False)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.02 * torch.randn(
                parameter.shape, generator=torch.Generator().manual_seed(1)
            )
    rows, lengths, scores = tuple(tiny.rows(2)), (4, 1, 3, 2), (1.1, 0.1, 0.0, 1.1)
    completions = tuple(Completion(tuple(range(20, 20 + n)), True) for n in lengths)
    rewards = tuple(Reward(Earned(0.0, s), reward(False, False).grade) for s in scores)
    rollouts = Rollouts(rows, completions, ("",) * 4, rewards)
    recipe = tiny.changed(kl_coefficient=0.05, entropy_coefficient=0.0, rollouts=2)

    def plain(model: torch.nn.Module) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        prompts, tokens = [row.prompt for row in rows], [c.tokens for c in completions]
        states, ids, mask = plain_states(model, prompts, tokens)  # type: ignore[arg-type]
        everything = torch.log_softmax(Halves.of(model).head(states), -1)  # type: ignore[arg-type]
        chosen = everything.gather(-1, ids.unsqueeze(-1)).squeeze(-1)
        return chosen * mask, -(everything.exp() * everything).sum(-1) * mask, mask

    logprobs, entropies, mask = plain(model)
    with torch.no_grad():
        anchor = plain(reference)[0]
    signal = Signal(at_last_token(torch.tensor(scores), mask), mask, 2)
    advantage = estimate(with_defaults("grpo"), signal).advantage
    kl = kl_estimate(logprobs, anchor, "low_var_kl")
    ratio = (logprobs - logprobs.detach()).exp()
    tokens = mask.sum()
    loss = ((-advantage * ratio + 0.05 * kl) * mask).sum() / tokens
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    norm = torch.stack([gradient.norm() for gradient in gradients]).norm()

    learner = Learner.of(model, recipe.learning_rate)
    found = tiny.improve(learner, reference, None, rollouts, recipe, "grpo")
    assert found.loss == pytest.approx(loss.item(), abs=1e-5)
    assert found.kl == pytest.approx(((kl * mask).sum() / tokens).item(), abs=1e-5)
    assert found.entropy == pytest.approx((entropies.sum() / tokens).item(), abs=1e-5)
    assert found.clip_share == 0
    assert found.advantage_std == pytest.approx(advantage[mask].std().item(), abs=1e-5)
    assert found.gradient_norm == pytest.approx(norm.item(), abs=1e-5)
