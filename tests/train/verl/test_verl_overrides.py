"""A cell's parameters as verl's settings: nothing lost, and understood by the real verl."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from pipeline.base.errors import UserError
from pipeline.config.algorithms import (
    ALGORITHMS,
    Algorithm,
    AlgorithmName,
    Grpo,
    Ppo,
)
from pipeline.config.training import Cluster, Lora, Train
from pipeline.ops.verl.compose import Composed, compose
from pipeline.ops.verl.overrides import as_arguments, planned, verl_overrides
from pipeline.ops.verl.placement import place
from pipeline.train import learner
from pipeline.train.shapes import QWEN25
from tests.train.verl.verl_cells import PATHS, TINY, cell, recipe

UNUSUAL: dict[str, Any] = {
    "updates_per_batch": 2,
    "clip_range": 0.1,
    "clip_range_high": 0.3,
    "dual_clip": 4.0,
    "aggregation": "seq-mean-token-sum-norm",
    "kl_coefficient": 0.02,
    "kl_kind": "mse",
    "entropy_coefficient": 0.03,
    "gradient_clip": 0.5,
    "temperature": 0.7,
    "top_p": 0.9,
    "validate_every": 3,
}


FOUR = {"gpus": 4, "offload": True}
UNUSUAL_PPO = Ppo(value_learning_rate=2e-6, value_clip=0.25, discount=0.9, gae_decay=0.8)
ESTIMATORS = {name: kind.estimator for name, kind in ALGORITHMS.items() if kind.estimator}


def settings(
    algorithm: Algorithm | AlgorithmName = "grpo",
    *,
    gpu: bool = False,
    flash: bool = True,
    **changes: Any,
) -> dict[str, Any]:
    """The overrides of a cell with a tiny model, or one of 7B."""
    chosen = cell(algorithm, **changes)
    shape = QWEN25["7B"] if gpu else TINY
    placement = place(shape, chosen.train, chosen.algorithm, chosen.train.cluster)
    return verl_overrides(chosen, placement, PATHS, rows=20, flash=flash)


def asked_of_verl(*arguments: Any, **changes: Any) -> Composed:
    """Compose and validate with the real verl."""
    return compose(settings(*arguments, **changes))


@pytest.mark.verl
@pytest.mark.parametrize("algorithm", ESTIMATORS)
def test_verl_accepts_every_algorithm(algorithm: AlgorithmName) -> None:
    found = asked_of_verl(algorithm)
    assert found.value("algorithm.adv_estimator") == ESTIMATORS[algorithm]
    assert found.value("trainer.device") == "cuda"
    assert found.value("actor_rollout_ref.rollout.name") == "vllm"


HALF: dict[str, Any] = {"gpu": True, "precision": "bfloat16"}
ACTOR, MODEL, ROLLOUT = (f"actor_rollout_ref.{part}" for part in ("actor", "model", "rollout"))


@pytest.mark.verl
def test_flash_attention_takes_packed_sequences_by_tokens() -> None:
    found = asked_of_verl("ppo", **HALF)
    for model in (MODEL, "critic.model"):
        assert found.value(f"{model}.use_remove_padding") is True
        assert found.value(f"{model}.override_config.attn_implementation") == "flash_attention_2"
    assert found.value(f"{ROLLOUT}.log_prob_use_dynamic_bsz") is True


@pytest.mark.verl
@pytest.mark.parametrize(
    "place",
    [HALF | {"flash": False}, {"gpu": True, "cluster": FOUR}],
    ids=["absent", "float32"],
)
@pytest.mark.parametrize("updates", [1, 2])
def test_torchs_attention_takes_padded_sequences_by_number(
    place: dict[str, Any], updates: int
) -> None:
    found = asked_of_verl("ppo", **place, prompts_per_step=6, updates_per_batch=updates)
    for model in (MODEL, "critic.model"):
        assert found.value(f"{model}.use_remove_padding") is False
        assert found.value(f"{model}.override_config.attn_implementation") == "sdpa"
    ranks = found.value("trainer.nnodes") * found.value("trainer.n_gpus_per_node")  # type: ignore[operator]
    sequences = 24 // ranks
    # verl wants divisors of what an accelerator has of the batch, and of an update.
    update = found.value(f"{ACTOR}.ppo_micro_batch_size_per_gpu")
    assert sequences // updates % update == 0  # type: ignore[operator]
    assert found.value(f"{ACTOR}.use_dynamic_bsz") is False
    for part in (ROLLOUT, "actor_rollout_ref.ref"):
        assert sequences % found.value(f"{part}.log_prob_micro_batch_size_per_gpu") == 0
        assert found.value(f"{part}.log_prob_use_dynamic_bsz") is False
    engine = built("critic.fsdp", found)
    assert engine.use_dynamic_bsz is False
    assert engine.micro_batch_size_per_gpu == engine.infer_micro_batch_size_per_gpu == update


def built(section: str, found: Composed) -> Any:
    """Let verl build a section."""
    from omegaconf import OmegaConf
    from verl.utils.config import omega_conf_to_dataclass

    config: Any = found.value(section)
    return omega_conf_to_dataclass(OmegaConf.create(config))


@pytest.mark.verl
def test_verl_refuses_sequences_over_accelerators_where_they_are_padded() -> None:
    spread = overridden(actor_rollout_ref__actor__ulysses_sequence_parallel_size=2)
    assert asked_of_verl(**HALF, cluster=spread)
    with pytest.raises(UserError, match="you must enable `use_remove_padding`"):
        asked_of_verl(**HALF, flash=False, cluster=spread)


@pytest.mark.verl
def test_every_value_arrives_under_the_name_that_verl_reads() -> None:
    found = asked_of_verl(UNUSUAL_PPO, **UNUSUAL)
    actor, rollout = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
    expected = {
        "data.train_files": PATHS.train,
        "data.train_batch_size": 8,
        "data.max_prompt_length": 64,
        "data.max_response_length": 16,
        "data.seed": 7,
        "data.shuffle": True,
        f"{rollout}.n": 4,
        f"{rollout}.temperature": 0.7,
        f"{rollout}.top_p": 0.9,
        f"{rollout}.val_kwargs.do_sample": False,
        f"{rollout}.val_kwargs.temperature": 0,
        f"{rollout}.val_kwargs.n": 1,
        f"{rollout}.max_model_len": 80,
        f"{rollout}.dtype": "float32",
        f"{actor}.ppo_mini_batch_size": 4,
        f"{actor}.ppo_epochs": 1,
        f"{actor}.optim.lr": 1e-6,
        f"{actor}.optim.clip_grad": 0.5,
        f"{actor}.clip_ratio_low": 0.1,
        f"{actor}.clip_ratio_high": 0.3,
        f"{actor}.clip_ratio_c": 4.0,
        f"{actor}.loss_agg_mode": "seq-mean-token-sum-norm",
        f"{actor}.entropy_coeff": 0.03,
        f"{actor}.use_kl_loss": True,
        f"{actor}.kl_loss_coef": 0.02,
        f"{actor}.kl_loss_type": "mse",
        f"{actor}.fsdp_config.mixed_precision.param_dtype": "fp32",
        "actor_rollout_ref.model.enable_gradient_checkpointing": True,
        "algorithm.use_kl_in_reward": False,
        "algorithm.gamma": 0.9,
        "algorithm.lam": 0.8,
        "critic.optim.lr": 2e-6,
        "critic.optim.clip_grad": 0.5,
        "critic.cliprange_value": 0.25,
        "critic.loss_agg_mode": "seq-mean-token-sum-norm",
        "critic.ppo_mini_batch_size": 4,
        "critic.model.path": PATHS.model,
        "reward.custom_reward_function.path": "pipeline/reward/verl_entry.py",
        "reward.custom_reward_function.reward_kwargs.preset": "rlvr",
        "trainer.total_training_steps": 5,
        "trainer.test_freq": 3,
        "trainer.save_freq": 3,
        "trainer.resume_mode": "auto",
        "trainer.max_actor_ckpt_to_keep": None,
        "trainer.logger": ["console", "file"],
    }
    assert {key: found.value(key) for key in expected} == expected


@pytest.mark.verl
def test_the_optimiser_is_the_local_trainers() -> None:
    found = asked_of_verl("ppo")
    import torch

    parameter = torch.nn.Parameter(torch.zeros(1))
    local = torch.optim.AdamW([parameter], weight_decay=learner._WEIGHT_DECAY).param_groups[0]
    for part in ("actor_rollout_ref.actor", "critic"):
        optim = found.value(f"{part}.optim")
        assert (optim["optimizer_impl"], optim["optimizer"]) == ("torch.optim", "AdamW")
        assert optim["weight_decay"] == local["weight_decay"]
        assert tuple(optim["betas"]) == local["betas"]
        assert (optim["lr_scheduler_type"], optim["lr_warmup_steps_ratio"]) == ("constant", 0.0)


@pytest.mark.verl
def test_adamw_steps_in_one_kernel_on_accelerators() -> None:
    """Else it would hold another shard in float32 while it steps."""
    import torch

    found = asked_of_verl("ppo", **HALF)
    from verl.workers.config.optimizer import build_optimizer

    for part in (ACTOR, "critic"):
        weights = [torch.nn.Parameter(torch.zeros(1))]
        assert build_optimizer(weights, built(f"{part}.optim", found)).param_groups[0]["fused"]


def test_vllm_compiles_nothing_with_nvcc_under_verl() -> None:
    from types import SimpleNamespace

    from pipeline.ops.verl.training import VerlTraining

    chosen = cell("ppo", precision="bfloat16")
    placement = place(QWEN25["7B"], chosen.train, chosen.algorithm, chosen.train.cluster)
    spec = SimpleNamespace(placement=placement, state="state")
    own = SimpleNamespace(stage=SimpleNamespace(study="mini"), key="nano")
    run: Any = SimpleNamespace(spec=spec, cell=chosen, own=own)
    assert VerlTraining._environment(run)["VLLM_USE_FLASHINFER_SAMPLER"] == "0"


@pytest.mark.verl
def test_kl_in_the_reward() -> None:
    found = asked_of_verl(
        "reinforce_plus_plus", kl_in_reward=True, kl_kind="kl", kl_coefficient=0.2
    )
    assert found.value("algorithm.use_kl_in_reward") is True
    assert found.value("algorithm.kl_penalty") == "kl"
    assert found.value("algorithm.kl_ctrl.kl_coef") == 0.2
    assert found.value("actor_rollout_ref.actor.use_kl_loss") is False


@pytest.mark.verl
def test_an_algorithms_own_settings_arrive_and_no_others() -> None:
    found = asked_of_verl(Grpo(normalise_by_std=False))
    assert found.value("algorithm.norm_adv_by_std_in_grpo") is False
    # verl would discount for REINFORCE++ too; its own default is not to.
    assert "algorithm.gamma" not in settings("reinforce_plus_plus")


@pytest.mark.parametrize("name", Ppo.own_settings())
def test_no_setting_of_the_critic_is_ignored(name: str) -> None:
    changed = Ppo(**{name: getattr(UNUSUAL_PPO, name)})
    assert settings(changed) != settings("ppo")


@pytest.mark.verl
def test_an_empty_thought_is_the_rewards_to_know() -> None:
    found = asked_of_verl(think=False).value("reward.custom_reward_function.reward_kwargs")
    assert found == {"preset": "rlvr", "begun": "</think>"}


# Fields that change nothing of verl's settings: another owner, or the local trainer's own.
OTHERS = {
    *("backend", "checkpoint", "device", "groups_per_micro_batch", "gradient_checkpointing"),
    "allow_no_answers",  # the job looks at how much of the first validation is answered
    "stop_on",  # of the stage, which follows the job
}
CHANGED: dict[str, Any] = {
    **UNUSUAL,
    "reward": "tom-rl-strict",
    "prompts_per_step": 4,
    "rollouts": 2,
    "steps": 9,
    "learning_rate": 3e-6,
    "kl_in_reward": True,
    "max_prompt_tokens": 32,
    "max_new_tokens": 8,
    "precision": "bfloat16",
    "cluster": Cluster(gpus=2),
    "tokens_per_micro_batch": 170,
    "think": False,
    "lora": Lora(rank=4),
    "learning_rate_schedule": "linear",
    "save_every": 5,
}


@pytest.mark.parametrize("field", [f for f in Train.model_fields if f not in OTHERS | {"epochs"}])
def test_no_field_of_the_recipe_is_ignored(field: str) -> None:
    before = settings("ppo")
    try:
        after = settings("ppo", **{field: CHANGED[field]})
    except UserError as error:
        assert field in str(error)
    else:
        assert after != before


@pytest.mark.verl
def test_lora_arrives() -> None:
    found = asked_of_verl(lora=Lora())
    model = "actor_rollout_ref.model"
    expected = {
        f"{model}.lora_rank": 32,
        f"{model}.lora_alpha": 32,
        f"{model}.target_modules": "all-linear",
        f"{model}.lora.merge": True,
        f"{ACTOR}.fsdp_config.model_dtype": "fp32",
    }
    assert {key: found.value(key) for key in expected} == expected
    half = asked_of_verl("ppo", lora=Lora(), precision="bfloat16", gpu=True)
    assert half.value(f"{ACTOR}.fsdp_config.model_dtype") == "bfloat16"
    assert half.value("critic.fsdp.model_dtype") == "fp32", "it is trained whole"


@pytest.mark.parametrize("rows", [8, 9, 15, 20, 64, 999])
@pytest.mark.parametrize("length", [{"steps": 1}, {"steps": 40}, {"epochs": 0.5}, {"epochs": 3}])
def test_verl_reaches_the_planned_last_step(rows: int, length: dict[str, Any]) -> None:
    chosen = recipe(**{"steps": None, **length})
    total, passes = planned(chosen, rows)
    assert total == chosen.total_steps(rows)
    # verl ends after so many passes of whole batches, or at the planned step if that comes first.
    whole = rows // chosen.prompts_per_step
    assert passes * whole >= total > (passes - 1) * whole


def test_less_than_one_batch_of_data() -> None:
    with pytest.raises(
        UserError, match="prompts_per_step: found 8; the training set has 7 prompts"
    ):
        planned(recipe(), rows=7)


@pytest.mark.parametrize(
    ("algorithm", "changes", "message"),
    [
        ("sft", {}, "verl has no algorithm 'sft'; allowed with train.backend verl: grpo, rein"),
        ("rft", {"updates_per_batch": 2}, "train.updates_per_batch: found 2 with rft; allowed"),
        ("rft", {"aggregation": "token-sum"}, "train.aggregation: found token-sum with rft"),
        ("grpo", {"updates_per_batch": 3}, "train.updates_per_batch: found 3; with verl it must"),
    ],
)
def test_what_verl_cannot_do(
    algorithm: AlgorithmName, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        settings(algorithm, **changes)


def overridden(**overrides: Any) -> Cluster:
    return Cluster(overrides={key.replace("__", "."): value for key, value in overrides.items()})


@pytest.mark.verl
def test_overrides_of_the_study_win() -> None:
    found = asked_of_verl(cluster=overridden(actor_rollout_ref__actor__optim__lr=0.5))
    assert found.value("actor_rollout_ref.actor.optim.lr") == 0.5


@pytest.mark.verl
@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "actor_rollout_ref.actor.optim.learning_rate",
            1,
            r"Could not override .*actor.optim.learning_rate.*; it has .*optim\.",
        ),
        ("trainer.n_gpus_per_node", "eight", "found 'eight'; allowed: a number, such as 8"),
        ("data.shuffle", 1, "found 1; allowed: true or false, such as True"),
        (
            "actor_rollout_ref.actor.loss_agg_mode",
            "mean",
            "verl refuses the configuration: .*Invalid loss_agg_mode: mean",
        ),
    ],
)
def test_mistakes_in_overrides_name_the_key(key: str, value: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        asked_of_verl(cluster=Cluster(overrides={key: value}))


@pytest.mark.verl
def test_a_new_key_needs_a_plus() -> None:
    found = asked_of_verl(cluster=Cluster(overrides={"+trainer.remark": "it's new"}))
    assert found.value("trainer.remark") == "it's new"


@pytest.mark.verl
@pytest.mark.parametrize(
    "value",
    [
        *("plain", "/a/b-c.d", "with space", "it's", 'say "hi"', "a,b", "[1]", "{x: 1}", "k=v"),
        *("null", "True", "1e-5", "12", "", "${x}", "back\\slash", "end\\", "\\'", "a\nb", "é <b>"),
        *(True, False, None, 3, -1, 5e-7, 1e9, 0.1, ["a b", 'it"s', 2], []),
    ],
)
def test_arguments_come_back_from_hydra_as_they_were(value: Any) -> None:
    parser = import_module("hydra.core.override_parser.overrides_parser")
    (argument,) = as_arguments({"some.key": value})
    parsed = parser.OverridesParser.create().parse_override(argument)
    assert parsed.key_or_group == "some.key"
    assert _plain(parsed.value()) == value


def _plain(value: Any) -> Any:
    """What Hydra's parser found without its mark of quotation."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return getattr(value, "text", value)
