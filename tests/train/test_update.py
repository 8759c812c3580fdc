"""The update: options that must not change the result, and those that must."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pipeline.config.algorithms import (
    ALGORITHMS,
    Algorithm,
    AlgorithmName,
    Grpo,
    with_defaults,
)
from pipeline.config.training import Train
from pipeline.engine import logprobs, shared_prefix
from pipeline.engine.decode import Completion
from pipeline.engine.recording import Recording
from pipeline.engine.sampling import Sampling
from pipeline.model.weights import weights_of
from pipeline.reward.presets import load_preset
from pipeline.reward.reward import Earned, Reward
from pipeline.tasks.example import Example
from pipeline.train import scoring, update
from pipeline.train.algorithms import at_last_token
from pipeline.train.critic import explained_variance, make_critic
from pipeline.train.data import TokenisedRow
from pipeline.train.learner import Learner
from pipeline.train.rollout import Judge, Rollouts, imitate, sample
from pipeline.train.scoring import Batching, Scoring, micro_batches, score
from pipeline.train.update import Updater, UpdateStatistics
from tests.model.casts import Casts
from tests.model.waits import Waits
from tests.train import tiny

GROUP, LENGTHS = 3, (4, 1, 6, 2, 5, 5, 3, 6, 1, 2, 2, 4)


def ragged() -> Rollouts:
    """Four prompts with three completions each, of all lengths, with random rewards."""
    generator = torch.Generator().manual_seed(0)
    rows = tuple(
        TokenisedRow(tuple(range(5, 8 + index)), Example("b", "t", f"{index}", "?", "yes"))
        for index in range(4)
    )
    completions = tuple(
        Completion(tuple(torch.randint(4, 250, (n,), generator=generator).tolist()), True)
        for n in LENGTHS
    )
    scores = torch.rand(12, generator=generator).tolist()
    rewards = tuple(Reward(Earned(0.0, value), tiny.WRONG) for value in scores)
    return Rollouts(rows, completions, ("",) * 12, rewards)


def learn(
    algorithm: Algorithm | AlgorithmName = "grpo",
    rollouts: Rollouts | None = None,
    **settings: Any,
) -> tuple[dict[str, torch.Tensor], UpdateStatistics]:
    """Update the tiny model once; return its weights and the statistics."""
    recipe = tiny.changed(**{"learning_rate": 1e-2, "kl_coefficient": 0.05} | settings)
    model, _ = tiny.base()
    reference = copy.deepcopy(model).requires_grad_(False)
    _shake(model)
    if recipe.gradient_checkpointing:
        model.gradient_checkpointing_enable()
    model.train()
    critic = Learner.of(make_critic(reference), 1e-2) if algorithm == "ppo" else None
    policy = Learner.of(model, recipe.learning_rate)
    found = tiny.improve(policy, reference, critic, rollouts or ragged(), recipe, algorithm)
    return weights_of(model), found


def _shake(model: PreTrainedModel) -> None:
    """Move the policy away from the reference."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.02 * torch.randn(parameter.shape, generator=generator)


def assert_same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    for name, tensor in one.items():
        torch.testing.assert_close(tensor, other[name], atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    "settings",
    [
        {"groups_per_micro_batch": 1},
        {"tokens_per_micro_batch": 40},
        {"tokens_per_micro_batch": 12},
        {"gradient_checkpointing": True},
    ],
    ids=str,
)
def test_how_the_work_is_cut_changes_rounding_only(
    algorithm: AlgorithmName, settings: dict[str, Any]
) -> None:
    for aggregation in ("token-mean", "seq-mean-token-mean"):
        whole, figures = learn(algorithm, aggregation=aggregation)
        parts, same = learn(algorithm, aggregation=aggregation, **settings)
        assert_same(whole, parts)
        assert same.metrics() == pytest.approx(figures.metrics(), rel=1e-3, abs=1e-5)


@pytest.mark.parametrize(
    "settings",
    [
        {"algorithm": Grpo(normalise_by_std=False)},
        {"aggregation": "seq-mean-token-mean"},
        {"aggregation": "token-sum"},
        {"aggregation": "seq-mean-token-sum"},
        {"aggregation": "seq-mean-token-sum-norm"},
        {"kl_in_reward": True},
        {"entropy_coefficient": 0.0},
        {"updates_per_batch": 2, "clip_range": 0.01},
        {"updates_per_batch": 2, "clip_range": 0.01, "clip_range_high": 0.5},
        {"precision": "bfloat16"},
    ],
    ids=str,
)
def test_every_option_does_something(settings: dict[str, Any]) -> None:
    plain, _ = learn()
    other, figures = learn(**settings)
    assert any(not torch.equal(plain[name], other[name]) for name in plain)
    assert all(torch.isfinite(torch.tensor(value)) for value in figures.metrics().values())


def test_modules_cast_weights_once_for_all_micro_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """And all micro-batches learn through the one cast."""
    monkeypatch.setattr(logprobs, "packs", lambda _: False)
    shape = tiny.base()[0].base_model.layers[0].mlp.down_proj.weight.shape
    found = []
    for parts in (1, 4):
        settings = {"groups_per_micro_batch": 4 // parts}
        with Casts(shape) as casts:
            found.append(learn(precision="bfloat16", **settings)[1])
        # The policy's once and its gradient for each; the frozen reference model's, which a trainer
        # holds cast, here for each pass over prompts or completions.
        assert casts.count == 1 + parts + 2 * parts
    assert found[0].gradient_norm == pytest.approx(found[1].gradient_norm, rel=0.02)
    assert found[0].loss == pytest.approx(found[1].loss, rel=0.02)


@pytest.mark.parametrize("teaching", [(1, 3), ()])
def test_what_teaches_nothing_costs_nothing(
    teaching: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the reference model nor gradients of equal rewards; weights and figures stay."""
    rollouts, settings = ragged(), {"entropy_coefficient": 0.0, "groups_per_micro_batch": 1}
    rewards = [r if n // GROUP in teaching else rollouts.rewards[0] for n, r in
               enumerate(rollouts.rewards)]  # fmt: skip
    rollouts = replace(rollouts, rewards=tuple(rewards))

    def run() -> tuple[dict[str, torch.Tensor], UpdateStatistics, int]:
        passes: list[bool] = []
        plain = score

        def watched(*given: Any) -> scoring.Scores:
            passes.append(torch.is_grad_enabled())
            return plain(*given)

        with monkeypatch.context() as patched:
            patched.setattr(update, "score", watched)
            patched.setattr(update, "fixed_logprobs", None)
            found = learn("grpo", rollouts, kl_coefficient=0.0, **settings)
        return *found, sum(passes)

    fast, figures, learned = run()
    with monkeypatch.context() as patched:
        patched.setattr(Updater, "_can_skip", False)
        slow, same, all_learned = run()
    assert (learned, all_learned) == (max(1, len(teaching)), 4) and figures.kl is None
    assert figures.metrics() == pytest.approx(same.metrics(), rel=1e-5)
    assert_same(fast, slow)


@pytest.mark.parametrize("algorithm", ["grpo", "ppo"])
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_logits_in_parts_change_rounding_only(
    algorithm: AlgorithmName, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"precision": precision, "entropy_coefficient": 0.1, "updates_per_batch": 2}
    whole, figures = learn(algorithm, **settings)
    monkeypatch.setattr(scoring, "LOGITS_AT_ONCE", 5 * 300)  # five tokens of 41
    parts, same = learn(algorithm, **settings)
    assert same.metrics() == pytest.approx(figures.metrics(), rel=1e-2, abs=1e-4)
    if precision == "float32":
        assert_same(whole, parts)


def test_bfloat16_stays_near_float32() -> None:
    _, exact = learn(clip_range=0.9)
    _, near = learn(clip_range=0.9, precision="bfloat16")
    assert near.entropy == pytest.approx(exact.entropy, rel=0.02)
    assert near.gradient_norm == pytest.approx(exact.gradient_norm, rel=0.2)


def test_kl_in_the_reward_is_taken_off_every_token() -> None:
    rollouts = ragged()
    recipe = tiny.changed(
        kl_in_reward=True, kl_coefficient=0.3, kl_kind="kl", groups_per_micro_batch=4
    )
    model, _ = tiny.base()
    reference = copy.deepcopy(model).requires_grad_(False)
    _shake(model)
    algorithm = with_defaults("reinforce_plus_plus")
    updater = Updater(recipe, algorithm, Learner.of(model, 1e-2), reference, None)
    batch = updater.prepare(rollouts)
    assert batch.reference is not None
    part = next(micro_batches(rollouts, Batching(4, None), range(4)))
    with torch.no_grad():
        logprobs = score(model, part, Scoring(1.0, "float32", False)).logprobs
    scores = torch.tensor([r.score for r in rollouts.rewards])
    penalty = 0.3 * (logprobs - batch.reference) * batch.mask
    rewards = at_last_token(scores, batch.mask) - penalty
    expected = torch.stack([rewards[:, t:].sum(-1) for t in range(rewards.shape[1])], 1)
    chosen = expected[batch.mask]
    whitened = (chosen - chosen.mean()) / chosen.std()
    torch.testing.assert_close(batch.advantage[batch.mask], whitened, atol=1e-4, rtol=1e-4)


def test_micro_batches_keep_to_their_budget_and_their_order() -> None:
    rollouts = ragged()
    for budget, groups in itertools.product((1, 12, 16, 25, 40, 60, 1000), (1, 2, 16)):
        parts = list(micro_batches(rollouts, Batching(groups, budget), range(4)))
        covered = [row for part in parts for row in range(12)[part.rows]]
        assert covered == list(range(12))
        for part in parts:
            completions = len(part.completions)
            assert part.prompts == tuple(
                dict.fromkeys(rollouts.rows[row // GROUP].prompt for row in range(12)[part.rows])
            )
            tokens = len(part.prompts) * max(map(len, part.prompts))
            tokens += completions * max(map(len, part.completions))
            assert len(part.prompts) <= groups and (completions == 1 or tokens <= budget)


@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [
        ("grpo", {}),
        ("grpo", {"updates_per_batch": 2}),
        ("grpo", {"gradient_checkpointing": True}),
        ("ppo", {"gradient_checkpointing": True}),
        ("ppo", {"updates_per_batch": 2, "kl_in_reward": True}),
    ],
    ids=str,
)
def test_no_micro_batch_waits_for_an_accelerator(
    algorithm: AlgorithmName, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is asked of the device is asked once for an optimiser step, not for its parts."""
    # The CPU's attention asks nothing either, but is not what an accelerator does.
    monkeypatch.setattr(shared_prefix, "joined", shared_prefix.repeated)
    rollouts, asked = ragged(), []
    for groups in (4, 1):
        with Waits() as waits:
            learn(algorithm, rollouts, groups_per_micro_batch=groups, **settings)
        asked.append(waits.seen)
    assert asked[0] == asked[1], asked


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_an_accelerator_runs_a_completion_that_is_alone_in_one_pass(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chosen by where the model says that it is, and carried out on the CPU."""
    asked = scoring.in_one_pass
    passes: list[bool] = []

    def as_if_there(model: PreTrainedModel, batch: scoring.MicroBatch) -> bool:
        there = SimpleNamespace(
            device=torch.device(device), training=True, is_gradient_checkpointing=False
        )
        passes.append(asked(there, batch))  # type: ignore[arg-type]
        return passes[-1]

    shared = ragged()
    firsts = [index * GROUP for index in range(len(shared.rows))]
    alone = replace(
        shared,
        completions=tuple(shared.completions[index] for index in firsts),
        texts=("",) * len(firsts),
        rewards=tuple(shared.rewards[index] for index in firsts),
    )
    expected = learn("sft", alone)
    monkeypatch.setattr(scoring, "in_one_pass", as_if_there)
    found = learn("sft", alone)
    learn("grpo", shared)
    assert passes[0] is (device == "cuda")
    assert passes[-1] is False
    assert_same(expected[0], found[0])
    assert found[1].metrics() == pytest.approx(expected[1].metrics(), rel=1e-3, abs=1e-5)


def test_the_critic_learns_what_a_prompt_is_worth() -> None:
    """Completions of every other prompt earn 1, the rest 0."""
    rollouts = ragged()
    rewards = tuple(
        Reward(Earned(0.0, float(index // GROUP % 2)), tiny.WRONG) for index in range(len(LENGTHS))
    )
    rollouts = Rollouts(rollouts.rows, rollouts.completions, rollouts.texts, rewards)
    model, _ = tiny.base()
    reference = copy.deepcopy(model).requires_grad_(False)
    policy = Learner.of(model, 1e-5)
    critic = Learner.of(make_critic(reference), 3e-3)
    seen = [
        tiny.improve(policy, reference, critic, rollouts, tiny.RECIPE, "ppo").metrics()
        for _ in range(60)
    ]
    assert seen[0]["explained_variance"] == 0 and seen[-1]["explained_variance"] > 0.9
    assert seen[-1]["value_loss"] < 0.2 * seen[0]["value_loss"]


def test_a_critic_shares_nothing_with_its_base() -> None:
    model, _ = tiny.base()
    frozen = copy.deepcopy(model).requires_grad_(False)
    critic = make_critic(frozen)
    assert all(parameter.requires_grad for parameter in critic.parameters())
    assert frozen.config.tie_word_embeddings and not critic.config.tie_word_embeddings
    assert "lm_head.bias" in weights_of(critic)
    assert not {p.data_ptr() for p in critic.parameters()} & {
        p.data_ptr() for p in frozen.parameters()
    }


def test_explained_variance_without_variance_is_nothing() -> None:
    assert explained_variance(torch.ones(3), torch.ones(3)) == 0
    assert explained_variance(torch.ones(1), torch.ones(1)) == 0
    assert explained_variance(torch.arange(4.0), torch.arange(4.0)) == 1


def drawn(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[TokenisedRow],
    step: int,
) -> Rollouts:
    completions = sample(
        model,
        tokenizer,
        rows,
        Sampling(8),
        group=3,
        stream=(0, step),
        precision="float32",
        recording=Recording(),
    )
    return Judge(tokenizer, load_preset("rlvr"))(rows, completions)


def test_the_same_prompt_twice_draws_other_completions_the_second_time() -> None:
    model, tokenizer = tiny.base()
    one, two = tiny.rows(2)
    other = replace(two, example=replace(two.example, id="2" * 12))
    once = drawn(model, tokenizer, [one, other], 1).texts
    twice = drawn(model, tokenizer, [one, other, one], 1).texts
    assert twice[:6] == once and not set(twice[6:]) & set(twice[:3])


def test_a_completion_does_not_depend_on_its_batch() -> None:
    model, tokenizer = tiny.base()
    one, two = (
        replace(row, example=replace(row.example, id=f"{n}" * 12))
        for n, row in enumerate(tiny.rows(2), 1)
    )

    def texts(*rows: TokenisedRow, step: int = 1) -> list[tuple[str, ...]]:
        made = drawn(model, tokenizer, rows, step)
        return [made.texts[i : i + 3] for i in range(0, len(made.texts), 3)]

    assert texts(one, two) == [*texts(one), *texts(two)] == texts(two, one)[::-1]
    assert texts(one) != texts(one, step=2) and len(set(texts(one)[0])) > 1
    assert texts(one) != texts(replace(one, example=replace(one.example, id="3" * 12)))


def test_imitation_learns_the_gold_answer() -> None:
    model, tokenizer = tiny.base()
    recipe: Train = tiny.changed(learning_rate=1e-2)
    rows: Sequence[TokenisedRow] = tiny.rows(3)
    rollouts = Judge(tokenizer, load_preset("rlvr"))(rows, imitate(tokenizer, rows, "answers"))
    assert rollouts.texts == ("</think><answer> yes</answer>",) * 3
    assert all(r.grade.correct and r.grade.format_ok for r in rollouts.rewards)
    assert all(c.tokens[-1] == tokenizer.eos_token_id for c in rollouts.completions)
    policy = Learner.of(model, 1e-2)
    losses = [tiny.improve(policy, model, None, rollouts, recipe, "sft").loss for _ in range(40)]
    assert losses[-1] < 0.1 * losses[0]
