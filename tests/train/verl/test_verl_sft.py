"""Imitation through verl: the lesson of the local trainer, its settings, checkpoints, resuming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import PreTrainedTokenizerBase

from pipeline.base.errors import UserError
from pipeline.config.algorithms import Imitated, Sft, with_defaults
from pipeline.config.training import Cluster, Lora, Train
from pipeline.data.codec import write_dataset
from pipeline.data.imitation import with_responses
from pipeline.data.prompt import PROMPTS
from pipeline.formats.files import read_json, remove
from pipeline.model.tiny import make_tokenizer
from pipeline.ops.verl.checkpoints import complete, whole_steps
from pipeline.ops.verl.compose import Composed, compose
from pipeline.ops.verl.layout import PROBE, State
from pipeline.ops.verl.placement import Placement, place
from pipeline.ops.verl.sft_data import Lessons
from pipeline.ops.verl.sft_overrides import sft_overrides
from pipeline.tasks.example import Example
from pipeline.train.data import imitable, load_rows
from pipeline.train.lesson import Lesson, collate
from pipeline.train.rollout import imitate
from pipeline.train.shapes import QWEN25
from tests.train.verl.test_verl_entry import STORY
from tests.train.verl.test_verl_overrides import CHANGED as OF_RL
from tests.train.verl.verl_cells import PATHS, TINY, cell, recipe

UNREADABLE = "Nobody can tell what happened here."
SFT = with_defaults("sft")


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerBase:
    """A tokenizer that knows the story."""
    return make_tokenizer([STORY] * 3, 400)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Questions of several lengths as the stage writes them; one has no trace to imitate."""
    asked = {
        "Where does Ann think the pear is?": "blue_box",
        "Where is the pear really?": "green_box",
        "Where does Ann think Bob thinks the pear is?": "blue_box",
    }
    examples = [
        Example("hi_tom", "hi_tom", STORY, question, answer, order=1)
        for question, answer in asked.items()
    ]
    examples.append(Example("hi_tom", "hi_tom", UNREADABLE, "Where is the pear?", "red_box"))
    path = tmp_path_factory.mktemp("data") / "train.parquet"
    written = with_responses(examples, ["answers", "traces", "rule"])
    written[0].meta["given"] = {"answers": " A pear, then?"}
    write_dataset(path, written, PROMPTS["compact"], "train")
    return path


def lessons(
    dataset: Path, tokenizer: PreTrainedTokenizerBase, what: Imitated, most: int = -1, seed: int = 7
) -> Lessons:
    """Build the dataset as verl does, from the section of its own configuration."""
    from omegaconf import OmegaConf
    from verl.trainer.sft_trainer_ray import create_sft_dataset

    found = asked_of_verl(Sft(imitates=what), max_prompt_tokens=400).config["data"]
    config = OmegaConf.create({**found, "seed": seed})  # type: ignore[dict-item]
    built = create_sft_dataset(str(dataset), config, tokenizer, processor=None, max_samples=most)
    return built  # type: ignore[no-any-return]


@pytest.mark.verl
@pytest.mark.parametrize(("what", "count"), [("answers", 4), ("traces", 3), ("rule", 3)])
def test_tokens_and_what_is_taught_are_the_local_trainers(
    dataset: Path, tokenizer: PreTrainedTokenizerBase, what: Imitated, count: int
) -> None:
    rows = imitable(load_rows(dataset, tokenizer, 400), what, tokenizer).rows
    own = [
        Lesson((*row.prompt, *completion.tokens), len(row.prompt))
        for row, completion in zip(rows, imitate(tokenizer, rows, what), strict=True)
    ]
    ids, taught = collate(own, 0, torch.device("cpu"))
    found = lessons(dataset, tokenizer, what, 9)
    assert len(found) == len(own) == count
    for index, lesson in enumerate(own):
        item, length = found[index], len(lesson.tokens)
        assert torch.equal(item["input_ids"], ids[index, :length])
        assert torch.equal(item["loss_mask"].bool(), taught[index, :length])
        assert torch.equal(item["position_ids"], torch.arange(length))
        learned = tokenizer.decode(item["input_ids"][item["loss_mask"].bool()].tolist())
        assert learned.endswith(f"</answer>{tokenizer.eos_token}")
        assert ("pear" in learned) == (what == "traces")


@pytest.mark.verl
def test_each_seed_has_an_order_of_its_own_and_a_checked_batch_that_of_the_file(
    dataset: Path, tokenizer: PreTrainedTokenizerBase
) -> None:
    in_file = lessons(dataset, tokenizer, "answers", 9).lessons
    assert lessons(dataset, tokenizer, "answers", 2).lessons == in_file[:2]
    orders = [lessons(dataset, tokenizer, "answers", seed=seed).lessons for seed in range(4)]
    assert all(sorted(each, key=in_file.index) == in_file for each in orders)
    assert len({tuple(each) for each in orders}) > 1
    assert lessons(dataset, tokenizer, "answers", seed=3).lessons == orders[3]


def asked_of_verl(algorithm: Any = SFT, *, gpu: bool = False, **changes: Any) -> Composed:
    """Compose and validate with the real verl."""
    return compose(settings(algorithm, gpu=gpu, **changes), "sft_trainer_engine")


def settings(algorithm: Any = SFT, *, gpu: bool = False, **changes: Any) -> dict[str, Any]:
    """The overrides of an imitating cell with a tiny model, or one of 7B."""
    chosen = cell(algorithm, **{"checkpoint": "last", **changes})
    return sft_overrides(chosen, placement(chosen.train, gpu=gpu), PATHS, rows=20)


def placement(chosen: Train, *, gpu: bool, size: str = "7B") -> Placement:
    """Where a cell imitates."""
    return place(QWEN25[size] if gpu else TINY, chosen, SFT, chosen.cluster)


@pytest.mark.verl
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_verl_accepts_them_in_every_precision(precision: str) -> None:
    found = asked_of_verl(precision=precision)
    assert found.value("trainer.device") == "cuda"
    assert found.value("model.use_remove_padding") is (precision == "bfloat16")
    assert found.value("engine.dtype") == precision
    assert found.value("engine.strategy") == "fsdp2"


@pytest.mark.verl
def test_every_value_arrives_under_the_name_that_verl_reads() -> None:
    found = asked_of_verl(Sft(imitates="rule"), gradient_clip=0.5, save_every=3)
    expected = {
        "data.train_files": PATHS.train,
        "data.val_files": PATHS.train,
        "data.val_max_samples": 8,
        "data.train_batch_size": 8,
        "data.micro_batch_size_per_gpu": 8,
        "data.use_dynamic_bsz": False,
        "data.pad_mode": "no_padding",
        "data.imitates": "rule",
        "data.max_prompt_length": 64,
        "data.seed": 7,
        "model.path": PATHS.model,
        "model.lora_rank": 0,
        "optim.lr": 1e-6,
        "optim.clip_grad": 0.5,
        "engine.seed": 7,
        "engine.mixed_precision.param_dtype": "fp32",
        "trainer.total_training_steps": 5,
        "trainer.total_epochs": 4,
        "trainer.save_freq": 3,
        "trainer.test_freq": 3,
        "trainer.resume_mode": "auto",
        "trainer.max_ckpt_to_keep": None,
        "trainer.logger": ["console", "file"],
    }
    assert {key: found.value(key) for key in expected} == expected


@pytest.mark.verl
def test_adapters_arrive() -> None:
    found = asked_of_verl(lora=Lora(rank=4, alpha=8))
    expected = {
        "model.lora_rank": 4,
        "model.lora_alpha": 8,
        "model.target_modules": "all-linear",
        "model.lora.merge": True,
        "engine.model_dtype": "fp32",
    }
    assert {key: found.value(key) for key in expected} == expected
    half = asked_of_verl(lora=Lora(), precision="bfloat16", gpu=True)
    assert half.value("engine.model_dtype") == "bfloat16"


# Fields that no imitating cell reads, or that the job and the trainer read for themselves.
OTHERS = {
    *("backend", "device", "groups_per_micro_batch", "gradient_checkpointing"),
    *("rollouts", "top_p", "clip_range", "clip_range_high", "dual_clip"),
    *("kl_coefficient", "kl_kind", "kl_in_reward", "entropy_coefficient"),
    "allow_no_answers",  # imitation needs none
    "stop_on",  # of the stage, which follows the job
    *("reward", "validate_every"),  # nothing is measured
    "max_new_tokens",  # of the placement
}
CHANGED: dict[str, Any] = {**OF_RL, "checkpoint": "best"}


@pytest.mark.parametrize("field", [f for f in Train.model_fields if f not in OTHERS | {"epochs"}])
def test_no_field_of_the_recipe_is_ignored(field: str) -> None:
    before = settings()
    try:
        after = settings(**{field: CHANGED[field]})
    except UserError as error:
        assert field in str(error)
    else:
        assert after != before


@pytest.mark.parametrize("gpus", [1, 2, 4])
def test_a_batch_is_shared_out_whole(gpus: int) -> None:
    chosen = recipe(precision="bfloat16", cluster=Cluster(gpus=gpus))
    found = placement(chosen, gpu=True, size="0.5B")
    assert 8 // gpus % found.micro_batch == 0  # one response for each prompt
    with pytest.raises(UserError, match=r"cannot share 8 completions .*prompts_per_step 8 x 1\)"):
        placement(recipe(cluster=Cluster(gpus=3)), gpu=True)


def test_imitation_samples_nothing_and_has_no_reference() -> None:
    chosen = recipe(precision="bfloat16", cluster=Cluster(gpus=4))
    found, shape = placement(chosen, gpu=True), QWEN25["7B"]
    assert found.rollout == found.scoring == {} and found.peaks["sampling"] == 0
    assert found.tensor_parallel == 1
    assert found.update["optimiser"] == 2 * shape.parameters
    thin = placement(chosen.model_copy(update={"lora": Lora(rank=32)}), gpu=True)
    assert thin.host["before adapters"] == 2 * shape.parameters
    assert 20 * thin.update["optimiser"] < found.update["optimiser"]


def test_a_checkpoint_is_whole_once_verl_has_saved_it_and_its_loss_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(State, "check", lambda _: None)
    state = State(tmp_path, "1-a")
    for step in (2, 4, 6):
        state.step(step).mkdir(parents=True)
    complete(state, {2: 0.5})
    assert whole_steps(state) == [], "verl has finished none"
    (state.checkpoints / "latest_checkpointed_iteration.txt").write_text("4")
    complete(state, {2: 0.5, 4: 0.25, 6: 0.125})
    assert whole_steps(state) == [2, 4]
    assert read_json(state.step(4) / PROBE) == {"loss": 0.25}
    remove(state.step(2))
    complete(state, {2: 0.5, 4: 9.0})
    assert whole_steps(state) == [4] and read_json(state.step(4) / PROBE) == {"loss": 0.25}


@pytest.mark.verl
@pytest.mark.parametrize("saved", [1, 2, 3, 4, 5])
def test_a_run_goes_on_to_its_last_step_from_wherever_it_was_saved(saved: int) -> None:
    """Also from the end of a pass, where verl goes through a pass without any batches."""
    whole, state = _walk(0, None, saved)
    assert state is not None and len(whole) == 6
    assert len({tuple(rows) for rows in whole}) == 6, "each pass has an order of its own"
    again, _ = _walk(saved, state, saved)
    assert len(again) == 6 - saved
    if saved % 2:
        assert again == whole[saved:]


def _walk(done: int, state: Any, saved: int) -> tuple[list[list[int]], Any]:
    """Take the batches of six steps as verl's loop does; return them and a state."""
    from torch.utils.data import DistributedSampler
    from torchdata.stateful_dataloader import (  # type: ignore[import-untyped]
        StatefulDataLoader,
    )

    rows = [torch.tensor(index) for index in range(11)]
    sampler: DistributedSampler[object] = DistributedSampler(
        rows, num_replicas=1, rank=0, drop_last=True
    )
    batches = StatefulDataLoader(rows, batch_size=4, sampler=sampler, drop_last=True)
    if state is not None:
        batches.load_state_dict(state)
    taken: list[list[int]] = []
    chosen = cell(SFT, prompts_per_step=4, steps=6, checkpoint="last")
    found = sft_overrides(chosen, placement(chosen.train, gpu=False), PATHS, rows=11)
    for number in range(done // len(batches), int(str(found["trainer.total_epochs"]))):
        sampler.set_epoch(number)
        for batch in batches:
            taken.append(batch.tolist())
            if done + len(taken) == saved:
                state = batches.state_dict()
            if done + len(taken) == 6:
                return taken, state
    return taken, state
