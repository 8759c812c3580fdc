"""What each study would launch is what is recorded, and the real verl accepts it."""

from __future__ import annotations

import pytest

from pipeline.config.study_files import study_files
from pipeline.ops.verl.compose import compose
from pipeline.ops.verl.trainers import RL
from tests.train.verl import golden

STUDIES = study_files(golden.PROJECT)


@pytest.mark.parametrize("study", STUDIES)
def test_plans_are_as_recorded(study: str) -> None:
    recorded = golden.FOLDER / f"{study}.yaml"
    was = recorded.read_text(encoding="utf-8") if recorded.is_file() else ""
    renew = "run: python -m tests.train.verl.golden, and read the difference"
    assert golden.text_of(STUDIES[study]) == was, renew


def test_only_studies_that_verl_trains_are_recorded() -> None:
    assert {path.stem for path in golden.FOLDER.glob("*.yaml")} == set(STUDIES) - {"control"}


@pytest.mark.verl
@pytest.mark.parametrize("study", STUDIES)
def test_verl_accepts_every_study(study: str) -> None:
    for plan in golden.plans_of_study(STUDIES[study]).values():
        found = compose(plan.overrides, plan.trainer.config)
        ranks = found.value("trainer.nnodes") * found.value("trainer.n_gpus_per_node")
        rows = found.value("data.train_batch_size")
        if plan.trainer is RL:
            rows *= found.value("actor_rollout_ref.rollout.n")
            longest = found.value("actor_rollout_ref.rollout.max_model_len")
            packed = found.value("actor_rollout_ref.model.use_remove_padding")
            for part in ("actor.ppo", "rollout.log_prob", "ref.log_prob") if packed else ():
                budget = found.value(f"actor_rollout_ref.{part}_max_token_len_per_gpu")
                assert budget >= longest, "the longest completion must have room"
            assert rows % ranks == 0
            assert found.value("actor_rollout_ref.ref.strategy") == "fsdp2"
            assert found.value("actor_rollout_ref.rollout.log_prob_use_dynamic_bsz") is packed
        else:
            assert rows % (ranks * found.value("data.micro_batch_size_per_gpu")) == 0


def test_the_largest_model_takes_four_nodes_of_four() -> None:
    plan = golden.plan_of_cell(STUDIES["next-scale"], "qwen25-32b-hi-fan-exp")
    assert (plan.placement.nodes, plan.placement.gpus) == (4, 4)
    assert plan.overrides["trainer.nnodes"] == 4
