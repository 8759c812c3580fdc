"""The memory plan against configurations that others have published as running."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from pipeline.base.errors import UserError
from pipeline.config.algorithms import AlgorithmName, with_defaults
from pipeline.config.expand import expand
from pipeline.config.params import TrainedCell
from pipeline.config.study_files import find_study
from pipeline.config.training import Accelerator, Cluster, Train
from pipeline.ops.verl.phases import FULL, Placement
from pipeline.ops.verl.placement import Size, known_sizes, place
from pipeline.train.accelerators import GIB, MEMORY
from pipeline.train.shapes import QWEN25
from tests.conftest import PROJECT
from tests.train.verl.verl_cells import recipe

_TOM_RL = "github.com/bigai-ai/ToM-RL: tom_grpo.sh and README (4 x A100 80G)"
_VERL = "github.com/volcengine/verl: "


GRPO, PPO = with_defaults("grpo"), with_defaults("ppo")


@dataclass(frozen=True)
class Run:
    """A published run; ``least`` says that it is published as the least that works.

    H800 has the memory of H100. ``micro_batch`` (completions per accelerator) is given where the
    run's completions come near the longest allowed, so that ours must reach it.
    """

    source: str
    size: str
    algorithm: str
    accelerator: Accelerator
    gpus: int
    prompt: int
    new: int
    prompts: int
    rollouts: int
    updates: int = 1
    nodes: int = 1
    offload: bool | None = None
    tensor_parallel: int | None = None
    micro_batch: int = 1
    least: bool = False
    lora: int | None = None

    def recipe(self) -> Train:
        """The parts of its recipe that take memory."""
        return recipe(
            prompts_per_step=self.prompts,
            rollouts=self.rollouts,
            updates_per_batch=self.updates,
            max_prompt_tokens=self.prompt,
            max_new_tokens=self.new,
            precision="bfloat16",
            lora={"rank": self.lora, "alpha": self.lora} if self.lora else None,
        )

    def place(self, **changes: Any) -> Placement:
        """Our placement of it."""
        asked: dict[str, Any] = {
            "accelerator": self.accelerator,
            "gpus": self.gpus,
            "nodes": self.nodes,
            "offload": self.offload,
            "tensor_parallel": self.tensor_parallel,
        }
        cluster = Cluster(**{**asked, **changes})
        return place(QWEN25[self.size], self.recipe(), with_defaults(self.algorithm), cluster)


PUBLISHED = [
    *(
        Run(_TOM_RL, size, "grpo", "a100-80", 4, 1024, 2048, 8, 16,
            offload=True, tensor_parallel=1, micro_batch=4)
        for size in ("0.5B", "1.5B", "3B", "7B")
    ),
    Run(_VERL + "examples/tuning/1.5b/qwen2.5math-1.5b_grpo_1_h100_fsdp_vllm.sh",
        "1.5B", "grpo", "h100", 1, 1024, 3000, 256, 8,
        offload=False, tensor_parallel=1, micro_batch=4, least=True),
    Run(_VERL + "docs/perf/device_tuning.rst: 7B, MIN, 2*H800",
        "7B", "grpo", "h100", 2, 1024, 1024, 1024, 5, updates=4,
        offload=True, tensor_parallel=1, least=True),
    Run(_VERL + "docs/perf/device_tuning.rst: 14B, MIN, 4*H800",
        "14B", "grpo", "h100", 4, 1024, 1024, 1024, 5, updates=4,
        offload=True, tensor_parallel=4, least=True),
    Run(_VERL + "examples/ppo_trainer/run_qwen2.5-0.5b.sh (1 GPU)",
        "0.5B", "ppo", "a100-40", 1, 1024, 1024, 8, 1,
        offload=False, tensor_parallel=1, micro_batch=8, least=True),
    Run("github.com/Jiayi-Pan/TinyZero: README (3B on 2 GPUs)",
        "3B", "ppo", "a100-80", 2, 256, 1024, 256, 1, updates=2, tensor_parallel=2),
    Run(_VERL + "examples/ppo_trainer/run_qwen2.5-3b_seq_balance.sh (8 GPUs)",
        "3B", "ppo", "a100-80", 8, 512, 512, 512, 1, updates=8,
        offload=False, tensor_parallel=2, micro_batch=2),
    Run(_VERL + "examples/grpo_trainer/run_qwen2-7b.sh (8 GPUs, 128 sequences on them)",
        "7B", "grpo", "a100-80", 8, 512, 512, 1024, 5, updates=4,
        offload=False, tensor_parallel=2, micro_batch=16),
    Run(_VERL + "examples/ppo_trainer/run_qwen2-7b.sh (Qwen2.5-Math-7B, 8 GPUs)",
        "7B", "ppo", "a100-80", 8, 1024, 512, 1024, 1, updates=4,
        offload=False, tensor_parallel=2, micro_batch=16),
    Run(_VERL + "examples/ppo_trainer/run_qwen2.5-32b.sh (4 nodes x 8 GPUs)",
        "32B", "ppo", "a100-80", 8, 1024, 1024, 1024, 1, updates=4, nodes=4,
        offload=False, tensor_parallel=4, micro_batch=8),
    *(
        Run(_VERL + f"examples/tuning/{size.lower()}/qwen2-{size.lower()}_grpo-lora_{gpus}_h100"
            "_fsdp_vllm.sh", size, "grpo", "h100", gpus, 512, 1024, per_gpu * gpus, 5,
            offload=True, tensor_parallel=gpus, lora=32)
        for size, gpus, per_gpu in (("7B", 1, 16), ("14B", 2, 58), ("32B", 4, 40))
    ),
]  # fmt: skip


@pytest.mark.parametrize("run", PUBLISHED, ids=lambda run: f"{run.size}-{run.source[-30:]}")
def test_published_runs_fit(run: Run) -> None:
    found = run.place()
    assert found.fits
    assert found.micro_batch >= run.micro_batch
    assert 0 < found.memory_utilization <= 0.95


@pytest.mark.parametrize("run", [r for r in PUBLISHED if r.least], ids=lambda run: run.size)
def test_the_least_that_is_published_is_the_least_that_we_plan(run: Run) -> None:
    found = run.place(gpus=None, offload=None, tensor_parallel=None)
    assert (found.nodes, found.gpus) == (run.nodes, run.gpus)


@pytest.mark.parametrize(
    ("size", "accelerator", "gpus"),
    [("32B", "a100-40", 1), ("32B", "h200", 1), ("14B", "a100-80", 1), ("14B", "h100", 2),
     ("7B", "a100-80", 1), ("7B", "h100", 1), ("7B", "a100-40", 2), ("3B", "a100-40", 1)],
)  # fmt: skip
def test_what_is_plainly_too_big_is_refused(size: str, accelerator: Accelerator, gpus: int) -> None:
    """The training state alone, 16 bytes for each parameter, is larger than the memory."""
    shape = QWEN25[size]
    assert 16 * shape.parameters > gpus * MEMORY[accelerator] * GIB
    cluster = Cluster(accelerator=accelerator, gpus=gpus)
    with pytest.raises(UserError, match=f"do not fit on {gpus} x {accelerator}: .* GiB on each"):
        place(shape, recipe(precision="bfloat16"), GRPO, cluster)


def test_the_training_state_is_exact() -> None:
    shape = QWEN25["7B"]
    found = place(shape, recipe(precision="bfloat16"), GRPO, Cluster(gpus=8))
    assert shape.parameters == 7_615_616_512  # of the published weights
    assert found.update["parameters"] == found.update["gradients"] == shape.parameters * 4 // 8
    assert found.update["optimiser"] == shape.parameters
    assert found.host["reference"] == shape.parameters * 4
    assert found.rollout["rollout weights"] == shape.parameters * 2


def test_what_is_there_only_for_a_while_is_planned() -> None:
    """vLLM's graphs while it sleeps, and a model that every process of a node loads whole."""
    tied, untied = (
        place(QWEN25[size], recipe(precision="bfloat16"), GRPO, Cluster(gpus=8))
        for size in ("3B", "7B")
    )
    assert tied.update["sleeping sampler"] == tied.scoring["sleeping sampler"] == GIB
    assert sum(tied.host.values()) == 8 * 4 * QWEN25["3B"].parameters
    assert sum(untied.host.values()) == 4 * QWEN25["7B"].parameters


def test_with_adapters_only_they_have_gradients_and_moments() -> None:
    shape, asked = QWEN25["7B"], Cluster(gpus=2, offload=True)
    whole, thin = (
        place(shape, recipe(precision="bfloat16", lora=lora), GRPO, asked)
        for lora in (None, {"rank": 32, "alpha": 32})
    )
    adapters = shape.adapters(32)
    assert adapters == 80_740_352  # what peft counts for Qwen2.5-7B
    assert thin.update["gradients"] == adapters * 4 // 2 == thin.update["optimiser"] // 2
    assert thin.update["parameters"] == (shape.parameters * 2 + adapters * 4) // 2
    assert thin.update["gathered layers"] == whole.update["gathered layers"] // 2
    assert "reference" in whole.host and "reference" not in thin.host
    assert thin.host["before adapters"] == 2 * shape.parameters
    assert thin.rollout["parameters"] > 0 == whole.rollout["parameters"], "added up before it is"
    full = place(shape, recipe(lora={"rank": 32, "alpha": 32}), GRPO, asked)
    assert full.update["parameters"] == (shape.parameters + adapters) * 4 // 2


@pytest.mark.parametrize(
    ("row", "kind"),
    [(row, kind) for row in known_sizes() for kind in row.accelerators],
    ids=lambda value: value if isinstance(value, str) else f"{value.model}-{value.trains}",
)
def test_the_rows_of_the_table_fit_as_they_say_and_by_arithmetic(row: Size, kind: str) -> None:
    shape, chosen = QWEN25[row.model], recipe(**LENGTHS, lora=LORA.get(row.trains))
    algorithm = with_defaults(ALGORITHMS.get(row.trains, "grpo"))
    own = row.model_dump(include={"nodes", "gpus", "tensor_parallel", "offload"})
    found = place(shape, chosen, algorithm, Cluster(accelerator=kind, **own))  # type: ignore[arg-type]
    assert round(found.peak / GIB, 1) == row.gib
    assert found.update_tokens <= row.tokens < 2 * found.update_tokens
    # What must be there at least, counted here anew, for each accelerator in bytes.
    every, ranks, lora = shape.parameters, found.ranks, row.trains == "lora"
    vocabulary = shape.vocab_size * shape.hidden_size * (1 if shape.tie_word_embeddings else 2)
    learned = shape.adapters(32) if lora else every
    models = 2 if row.trains == "ppo" else 1  # the critic waits without gradients
    state = (2 * every + 16 * learned if lora else 16 * every) / ranks
    update = (
        state + 2 * vocabulary + 2 * GIB + 12 * every / ranks * (models - 1) * (not found.offload)
    )
    waits = 0 if found.offload else 12 * every / ranks * models
    if lora:
        waits = (2 * every + (0 if found.offload else 12 * learned)) / ranks
    sampling = waits + 2 * every / found.tensor_parallel + 6 * GIB
    assert max(update, sampling) <= MEMORY[kind] * GIB


LENGTHS: dict[str, Any] = {
    "precision": "bfloat16",
    "prompts_per_step": 8,
    "rollouts": 8,
    "max_prompt_tokens": 2048,
    "max_new_tokens": 2048,
}
"""What the table's GiB are for."""
LORA = {"lora": {"rank": 32, "alpha": 32}}
ALGORITHMS: dict[str, AlgorithmName] = {"ppo": "ppo", "sft": "sft"}


def test_the_first_row_of_the_next_larger_model_counts_and_the_study_wins_over_it() -> None:
    chosen = recipe(**LENGTHS)
    found = place(QWEN25["7B"], chosen, GRPO, Cluster())
    assert (found.nodes, found.gpus, found.offload, found.micro_batch) == (1, 2, True, 1)
    assert place(QWEN25["7B"], chosen, GRPO, Cluster(gpus=4)).micro_batch == 8
    kept = place(QWEN25["14B"], chosen, GRPO, Cluster(offload=False))
    assert (kept.gpus, kept.tensor_parallel) == (4, 4), "a row without offload"
    spread = place(QWEN25["14B"], chosen, GRPO, Cluster(offload=True, tensor_parallel=2))
    assert (spread.gpus, spread.tensor_parallel) == (4, 2), "set beside the row"
    small = replace(QWEN25["3B"], num_hidden_layers=30)
    assert place(small, chosen, GRPO, Cluster()).micro_batch == 8, "as the 3B"
    alone = place(QWEN25["7B"], chosen, GRPO, Cluster(gpus=8))
    assert (alone.tensor_parallel, alone.offload, alone.micro_batch) == (1, False, 8)
    halves = place(QWEN25["32B"], chosen, GRPO, Cluster(node_gpus=4))
    assert (halves.nodes, halves.gpus) == (4, 4)


@pytest.mark.parametrize(
    ("size", "asked", "said"),
    [
        ("14B", {"accelerator": "l4"}, r"14\.8 billion parameters \(full\) on l4; it has 8 nodes"),
        ("32B", {"nodes": 1}, r"on a100-80, nodes 1; it has .*2 nodes x 8 x a100-80 or h100"),
        ("7B", {"node_gpus": 1}, "on a100-80, node_gpus 1; it has 2 x a100-80"),
    ],
)
def test_what_is_not_in_the_table_is_refused_with_what_is(
    size: str, asked: dict[str, Any], said: str
) -> None:
    with pytest.raises(
        UserError, match=rf"sizes\.yaml has no row for .*{said}.*train.cluster.gpus"
    ):
        place(QWEN25[size], recipe(**LENGTHS), GRPO, Cluster(**asked))
    larger = replace(QWEN25["32B"], num_hidden_layers=80)
    with pytest.raises(UserError, match="it has none for a model as large"):
        place(larger, recipe(**LENGTHS), GRPO, Cluster())


def asked_of(study: str) -> Train:
    """The training recipe of a study, on any accelerators."""
    cells = expand(find_study(PROJECT, study)).cells.values()
    return next(cell.train for cell in cells if isinstance(cell, TrainedCell))


def test_what_a_card_holds_may_be_said_where_its_name_stands_for_another() -> None:
    chosen = asked_of("tom-rl")
    named, said = Cluster(accelerator="rtx-4090"), Cluster(accelerator="l4", memory=23.5)
    one, other = (place(QWEN25["3B"], chosen, GRPO, each) for each in (named, said))
    assert one.capacity == other.capacity and one.update == other.update
    with pytest.raises(UserError, match=r"on 1 x l4: .*it has 12\.0"):
        place(QWEN25["1.5B"], chosen, GRPO, Cluster(accelerator="l4", memory=12, gpus=1))


def test_offload_empties_the_accelerators_for_sampling_only() -> None:
    stays, waits = (
        place(QWEN25["7B"], recipe(precision="bfloat16"), PPO, Cluster(gpus=8, offload=offload))
        for offload in (False, True)
    )
    assert stays.rollout["optimiser"] > 0 == waits.rollout["optimiser"]
    assert stays.update["optimiser"] == waits.update["optimiser"]
    assert stays.update["critic"] > 0 == waits.update["critic"]
    assert waits.host["offloaded"] > 0 == stays.host["offloaded"]


def test_micro_batches_keep_to_the_tokens_that_the_recipe_allows() -> None:
    chosen = recipe(precision="bfloat16", tokens_per_micro_batch=3 * 80)
    found = place(QWEN25["0.5B"], chosen, GRPO, Cluster())
    assert (found.micro_batch, found.update_tokens, found.log_prob_tokens) == (3, 240, 960)
    chosen = recipe(precision="bfloat16", tokens_per_micro_batch=10)
    assert place(QWEN25["0.5B"], chosen, GRPO, Cluster()).micro_batch == 1


@pytest.mark.parametrize("prompts", [1, 3, 8, 24])
@pytest.mark.parametrize("gpus", [1, 2, 4])
def test_no_budget_is_larger_than_the_work_of_an_accelerator(prompts: int, gpus: int) -> None:
    chosen = recipe(prompts_per_step=prompts, rollouts=4, precision="bfloat16")
    found = place(QWEN25["0.5B"], chosen, GRPO, Cluster(gpus=gpus))
    assert 1 <= found.micro_batch <= found.log_prob_micro_batch <= prompts * 4 // gpus


def test_logits_are_planned_in_chunks_unless_the_study_wants_them_whole() -> None:
    asked = {"max_new_tokens": 2048, "precision": "bfloat16"}
    whole = Cluster(gpus=8, overrides={"actor_rollout_ref.model.use_fused_kernels": False})
    chunks, all_at_once = (
        place(QWEN25["7B"], recipe(cluster=cluster, **asked), GRPO, cluster)
        for cluster in (Cluster(gpus=8), whole)
    )
    tokens = all_at_once.update_tokens
    assert all_at_once.update["logits"] == tokens * QWEN25["7B"].vocab_size * 8
    assert chunks.update["logits"] < all_at_once.update["logits"] / tokens * 4096


def test_the_sampler_takes_its_usual_share_where_there_is_room() -> None:
    small = place(QWEN25["0.5B"], recipe(precision="bfloat16"), GRPO, Cluster())
    assert small.memory_utilization == 0.6
    large = place(QWEN25["3B"], recipe(precision="bfloat16"), GRPO, Cluster(gpus=1))
    assert 0.2 < large.memory_utilization < 0.6
    assert large.peaks["sampling"] <= FULL * large.capacity  # type: ignore[operator]


def test_a_batch_that_does_not_divide() -> None:
    with pytest.raises(UserError, match="3 accelerators each cannot share 32 completions evenly"):
        place(QWEN25["0.5B"], recipe(precision="bfloat16"), GRPO, Cluster(gpus=3))


def test_tensor_parallel_that_does_not_divide() -> None:
    with pytest.raises(UserError, match="train.cluster.tensor_parallel: found 3; allowed: a div"):
        place(QWEN25["0.5B"], recipe(), GRPO, Cluster(gpus=4, tensor_parallel=3))
