"""verl's own functions and the local trainer give the same numbers."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from pipeline.config.algorithms import AlgorithmName, with_defaults
from pipeline.config.models import TinySize
from pipeline.config.training import Train
from pipeline.engine.decode import Completion
from pipeline.model.tiny import make_model, make_tokenizer
from pipeline.model.weights import write_end_ids
from pipeline.reward.presets import load_preset, reward, safe_reward
from pipeline.reward.reward import Earned, Reward
from pipeline.tasks.example import Example
from pipeline.train.algorithms import Signal, at_last_token, estimate
from pipeline.train.data import TokenisedRow, load_rows
from pipeline.train.learner import Learner
from pipeline.train.rollout import Rollouts
from pipeline.train.update import Updater
from tests.train.verl.test_verl_entry import dataset

__all__ = ["dataset"]
pytestmark = pytest.mark.verl
TOLERANCE = 1e-5

PROMPTS, GROUP = 6, 4
RECIPE = Train(
    reward="rlvr",
    prompts_per_step=PROMPTS,
    rollouts=GROUP,
    steps=1,
    learning_rate=1e-3,
    kl_coefficient=0.05,
    entropy_coefficient=0.01,
    dual_clip=3.0,
    gradient_clip=1e9,
    max_prompt_tokens=64,
    max_new_tokens=16,
    validate_every=1,
    save_every=1,
)
Both = tuple[dict[str, float], dict[str, float]]
"""The same figures of both sides."""
TEXTS = ["What is it? It is red.", "Where does Ann think the pear is?", "yes no blue_box"]


@pytest.mark.parametrize("algorithm", ["grpo", "reinforce_plus_plus"])
def test_loss_kl_and_gradient_agree(algorithm: AlgorithmName) -> None:
    ours, theirs = losses(algorithm)
    assert ours == pytest.approx(theirs, abs=TOLERANCE, rel=TOLERANCE)
    assert abs(ours["loss"]) > 100 * TOLERANCE
    assert ours["kl"] > 100 * TOLERANCE


def test_loss_and_gradient_of_imitation_agree() -> None:
    ours, theirs = imitation()
    assert ours == pytest.approx(theirs, abs=TOLERANCE, rel=TOLERANCE)
    assert min(ours.values()) > 100 * TOLERANCE


def test_the_gradient_of_rejection_sampling_agrees() -> None:
    ours, theirs = rejection()
    assert ours == pytest.approx(theirs, rel=TOLERANCE) and ours > 1


def test_logits_in_chunks_say_what_all_of_them_say() -> None:
    """In a process of its own: verl changes the model's class."""
    whole, chunks = apart(chunked_logits)
    assert chunks == pytest.approx(whole, rel=TOLERANCE)
    assert whole["gradient_norm"] > 1


def apart(function: Callable[[], Both]) -> Both:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(function).result()


def test_500_responses_earn_the_same_through_verl(dataset: Path, tmp_path: Path) -> None:
    through, direct = asyncio.run(rewards(dataset, tmp_path))
    assert through == direct
    assert len(direct) == 500 and len(set(direct)) > 1


def losses(algorithm: AlgorithmName) -> Both:
    """Loss, KL, entropy and gradient norm of one random batch, from both."""
    policy, reference = _model(seed=0), _model(seed=1)
    twin = copy.deepcopy(policy)
    rollouts = _rollouts()
    learner, chosen = Learner.of(policy, RECIPE.learning_rate), with_defaults(algorithm)
    updater = Updater(RECIPE, chosen, learner, reference, None)
    statistics = updater.update(updater.prepare(rollouts))
    mask = _mask(rollouts)
    scores = at_last_token(torch.tensor([r.score for r in rollouts.rewards]), mask)
    advantage = estimate(chosen, Signal(scores, mask, GROUP)).advantage
    ours = {
        "loss": statistics.loss,
        "kl": statistics.kl or 0.0,
        "entropy": statistics.entropy,
        "gradient_norm": statistics.gradient_norm,
    }
    return ours, _verl_update(twin, reference, rollouts, advantage, mask)


def imitation() -> Both:
    """Loss and gradient norm of imitating one random batch, from both."""
    policy = _model()
    twin, rollouts = copy.deepcopy(policy), _rollouts()
    given = replace(rollouts, completions=rollouts.completions[::GROUP], texts=("",) * PROMPTS)
    given = replace(given, rewards=rollouts.rewards[::GROUP])
    learner, chosen = Learner.of(policy, RECIPE.learning_rate), with_defaults("sft")
    updater = Updater(RECIPE, chosen, learner, policy, None)
    statistics = updater.update(updater.prepare(given))
    ours = {"loss": statistics.loss, "gradient_norm": statistics.gradient_norm}
    return ours, _verl_imitation(twin, given)


def rejection() -> tuple[float, float]:
    """Gradient norm of imitating what is right in one random batch, from both."""
    from pipeline.ops.verl.hooks import imitating_advantages

    policy = _model()
    twin, rollouts = copy.deepcopy(policy), _rollouts()
    right = [place % 3 == 0 for place in range(PROMPTS * GROUP)]
    rewards_ = [replace(r, right=own) for r, own in zip(rollouts.rewards, right, strict=True)]
    ended = [replace(each, finished=True) for each in rollouts.completions]
    rollouts = replace(rollouts, completions=tuple(ended), rewards=tuple(rewards_))
    recipe = RECIPE.model_copy(update={"kl_coefficient": 0.0, "entropy_coefficient": 0.0})
    learner, chosen = Learner.of(policy, recipe.learning_rate), with_defaults("rft")
    updater = Updater(recipe, chosen, learner, policy, None)
    statistics = updater.update(updater.prepare(rollouts.right()))
    mask = _mask(rollouts)
    scores = at_last_token(torch.tensor(right).float(), mask)
    advantage, _ = imitating_advantages(scores, mask)
    theirs = _verl_update(twin, twin, rollouts, advantage, mask, recipe)
    return statistics.gradient_norm, theirs["gradient_norm"]


def chunked_logits() -> Both:
    """What verl's fused head makes of two chunks of tokens beside what all logits say.

    Each value is a sum, or the norm of a gradient of all of them.
    """
    from verl.models.transformers.monkey_patch import apply_monkey_patch

    model = _model()
    ids = torch.randint(5, 250, (6, 120), generator=torch.Generator().manual_seed(0))
    temperature = 0.7

    def summed(logprobs: torch.Tensor, entropy: torch.Tensor) -> dict[str, float]:
        model.zero_grad()
        (logprobs.square().sum() + entropy.sum()).backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9)
        return {
            "log-probabilities": logprobs.sum().item(),
            "entropy": entropy.sum().item(),
            "gradient_norm": float(norm),
        }

    logs = torch.log_softmax(model(input_ids=ids, use_cache=False).logits / temperature, dim=-1)
    chosen = logs.gather(-1, ids.roll(-1, dims=-1).unsqueeze(-1)).squeeze(-1)
    whole = summed(chosen, -(logs.exp() * logs).sum(-1))
    apply_monkey_patch(
        model=model,
        use_remove_padding=False,
        ulysses_sp_size=1,
        use_fused_kernels=True,
        fused_kernels_backend="torch",
    )
    found = model(input_ids=ids, use_cache=False, temperature=temperature, return_dict=True)
    return whole, summed(found.log_probs, found.entropy)


def _verl_imitation(policy: Any, given: Rollouts) -> dict[str, float]:
    """What verl's own loss of imitation makes of the batch, in two micro-batches."""
    from verl.utils import tensordict_utils as tu
    from verl.workers.utils.losses import sft_loss

    pairs = list(zip(given.rows, given.completions, strict=True))
    total = sum(len(completion.tokens) for _, completion in pairs)
    found = {"loss": 0.0}
    for part in (pairs[:2], pairs[2:]):
        sequences = [torch.tensor([*row.prompt, *c.tokens]) for row, c in part]
        masks = [
            (torch.arange(len(s)) >= len(r.prompt)).long()
            for s, (r, _) in zip(sequences, part, strict=True)
        ]
        scored = [_score(policy, ids)[0] for ids in sequences]
        data = tu.get_tensordict({"loss_mask": _jagged(masks)})
        tu.assign_non_tensor(data, dp_size=1, batch_num_tokens=total)
        loss, _ = sft_loss(None, {"log_probs": _jagged(scored)}, data)
        loss.backward()
        found["loss"] += loss.item()
    norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), 1e9)
    return {**found, "gradient_norm": float(norm)}


def _model(seed: int = 0) -> Any:
    tokenizer = make_tokenizer(TEXTS, 300)
    return make_model(TinySize(32, 2, 2), tokenizer, context=128, seed=seed)


def _mask(rollouts: Rollouts) -> torch.Tensor:
    """Where completions have tokens [B, T]."""
    lengths = torch.tensor([len(c.tokens) for c in rollouts.completions])
    return torch.arange(int(lengths.max())) < lengths.unsqueeze(1)


def _jagged(parts: list[torch.Tensor]) -> torch.Tensor:
    # Not as_nested_tensor: gradients must flow back to the parts.
    lengths = torch.tensor([len(part) for part in parts])
    offsets = torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)])
    return torch.nested.nested_tensor_from_jagged(torch.cat(parts), offsets)


def _rollouts() -> Rollouts:
    random = Random(0)
    rows = tuple(
        TokenisedRow(
            tuple(random.randrange(5, 250) for _ in range(random.randrange(2, 12))),
            Example("hi_tom_style", "hi_tom_style_train", f"story {i}", "?", "yes"),
        )
        for i in range(PROMPTS)
    )
    completions = tuple(
        Completion(tuple(random.randrange(5, 250) for _ in range(random.randrange(1, 16))), False)
        for _ in range(PROMPTS * GROUP)
    )
    verdict = reward(load_preset("rlvr"), "", rows[0].example).grade
    rewards_ = tuple(
        Reward(Earned(0.0, random.choice((0.0, 0.1, 1.1))), verdict) for _ in completions
    )
    return Rollouts(rows, completions, tuple("" for _ in completions), rewards_)


def _verl_update(
    policy: Any,
    reference: Any,
    rollouts: Rollouts,
    advantage: torch.Tensor,
    mask: torch.Tensor,
    recipe: Train = RECIPE,
) -> dict[str, float]:
    """What verl's own loss makes of the batch, with plain forward passes."""
    from verl.utils import tensordict_utils as tu
    from verl.workers.config import ActorConfig
    from verl.workers.config.optimizer import FSDPOptimizerConfig
    from verl.workers.utils.losses import ppo_loss

    config = ActorConfig(
        strategy="fsdp2",
        rollout_n=GROUP,
        ppo_mini_batch_size=PROMPTS,
        ppo_micro_batch_size_per_gpu=1,
        optim=FSDPOptimizerConfig(lr=1e-3),
        clip_ratio=RECIPE.clip_range,
        clip_ratio_low=RECIPE.clip_range,
        clip_ratio_high=RECIPE.clip_range,
        clip_ratio_c=3.0,
        loss_agg_mode=RECIPE.aggregation,
        entropy_coeff=recipe.entropy_coefficient,
        use_kl_loss=True,
        kl_loss_coef=recipe.kl_coefficient,
        kl_loss_type=RECIPE.kl_kind,
    )
    prompts = [rollouts.rows[i // GROUP].prompt for i in range(PROMPTS * GROUP)]
    responses = [c.tokens for c in rollouts.completions]
    sequences = [torch.tensor([*p, *r]) for p, r in zip(prompts, responses, strict=True)]
    scored = [_score(policy, ids) for ids in sequences]
    with torch.no_grad():
        anchors = [_score(reference, ids)[0] for ids in sequences]
    lengths = [len(response) for response in responses]

    def responses_of(values: list[torch.Tensor]) -> torch.Tensor:
        parts = [v[-n - 1 : -1].detach() for v, n in zip(values, lengths, strict=True)]
        return torch.nested.as_nested_tensor(parts, layout=torch.jagged)

    nested = lambda parts: torch.nested.as_nested_tensor(parts, layout=torch.jagged)  # noqa: E731
    data = tu.get_tensordict(
        {
            "prompts": nested([torch.tensor(p) for p in prompts]),
            "responses": nested([torch.tensor(r) for r in responses]),
            "response_mask": nested([torch.ones(n) for n in lengths]),
            "old_log_probs": responses_of([s[0] for s in scored]),
            "ref_log_prob": responses_of(anchors),
            "advantages": nested([a[:n] for a, n in zip(advantage, lengths, strict=True)]),
        }
    )
    tu.assign_non_tensor(
        data, dp_size=1, batch_num_tokens=int(mask.sum()), global_batch_size=len(responses)
    )
    output = {
        "log_probs": torch.cat([s[0] for s in scored]),
        "entropy": torch.cat([s[1] for s in scored]),
    }
    loss, metrics = ppo_loss(config, output, data)
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), 1e9)

    def value(name: str) -> float:
        return float(metrics[name].aggregate())

    return {
        "loss": loss.item(),
        "kl": value("kl_loss"),
        "entropy": value("actor/entropy_loss"),
        "gradient_norm": float(norm),
    }


def _score(model: Any, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probability and entropy of every next token [T]; the last place holds zeros."""
    logits = model(input_ids=ids.unsqueeze(0), use_cache=False).logits[0].float()
    logs = torch.log_softmax(logits, dim=-1)
    entropy = -(logs.exp() * logs).sum(-1)
    chosen = logs[:-1].gather(-1, ids[1:].unsqueeze(-1)).squeeze(-1)
    return torch.cat([chosen, torch.zeros(1)]), entropy


async def rewards(dataset: Path, folder: Path) -> tuple[list[float], list[float]]:
    """What 500 responses earn by their answer and reasoning, through verl's loop and directly."""
    from omegaconf import OmegaConf
    from verl import DataProto
    from verl.trainer.ppo.reward import get_custom_reward_fn, load_reward_manager

    from pipeline.ops.verl.overrides import hooks

    tokenizer = _kept(make_tokenizer(TEXTS, 400), folder)
    rows, random = load_rows(dataset, tokenizer, 10**6).rows, Random(1)
    records = pd.read_parquet(dataset)[["data_source", "reward_model", "extra_info"]]
    config = OmegaConf.create(_reward_config())
    for key, value in hooks("", "").items():
        if key.startswith("reward."):
            OmegaConf.update(config, key, value)
    manager = load_reward_manager(config, tokenizer)
    assert get_custom_reward_fn(config) is not None
    through, direct = [], []
    for index in (random.randrange(len(rows)) for _ in range(500)):
        text = _response(random, rows[index].example.answer)
        ids = [*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id]
        record = records.iloc[index].to_dict().items()
        data = DataProto.from_dict(
            tensors={
                "prompts": torch.zeros(1, 1, dtype=torch.long),
                "responses": torch.tensor([ids]),
                "attention_mask": torch.ones(1, len(ids) + 1, dtype=torch.long),
            },
            non_tensors={name: np.array([value], dtype=object) for name, value in record},
        )
        scored = await manager.run_single(data)
        through.append(scored["reward_score"])
        seen = tokenizer.decode(ids[:-1], skip_special_tokens=False)
        direct.append(safe_reward(load_preset("fidelity"), seen, rows[index].example).score)
    return through, direct


def _reward_config() -> dict[str, Any]:
    import pipeline.reward.verl_entry as entry

    return {
        "reward": {
            "custom_reward_function": {
                "path": entry.__file__,
                "name": "compute_score",
                "reward_kwargs": {"preset": "fidelity", "settings": {"weight": 0.5}},
            },
            "reward_manager": {
                "source": "register",
                "name": "naive",
                "module": {"path": None, "name": "custom_reward_manager"},
            },
        }
    }


def _kept(tokenizer: PreTrainedTokenizerBase, folder: Path) -> PreTrainedTokenizerBase:
    """A tokenizer as a job finds it: in a folder that names the tokens which end a text."""
    tokenizer.save_pretrained(folder)
    write_end_ids(folder, (tokenizer.eos_token_id,))
    kept: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(folder)
    return kept


def _response(random: Random, answer: str) -> str:
    """A response: right, wrong, malformed, with stray markup, or hostile."""
    thought = random.choice(("", "Ann thinks the pear is in the blue_box.", "<think>", "é ((("))
    given = random.choice((answer, f" {answer} ", answer.upper(), "nowhere", "", "<|im_start|>"))
    return random.choice(
        (
            f"{thought}</think><answer>{given}</answer>",
            f"{thought}</think>\n<answer> {given}</answer>",
            f"{thought}</think><answer>{given}<|im_start|></answer>",
            f"{thought}</think>{given}",
            f"{thought}<answer>{given}</answer>",
            f"{thought}</think><answer>{given}</answer><answer>{given}</answer>",
        )
    )
