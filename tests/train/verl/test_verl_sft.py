"""Imitation through verl: the lesson of the local trainer, its settings, batches that go on."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
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
from pipeline.model.tiny import make_tokenizer
from pipeline.ops.verl.checkpoints import unlogged, whole_steps
from pipeline.ops.verl.compose import Composed, compose
from pipeline.ops.verl.layout import PROBE, State
from pipeline.ops.verl.overrides import planned
from pipeline.ops.verl.placement import Placement, place
from pipeline.ops.verl.sft_data import ROW, Lessons
from pipeline.ops.verl.sft_overrides import sft_overrides
from pipeline.tasks.example import Example
from pipeline.train.data import imitable, load_rows
from pipeline.train.lesson import Lesson, collate
from pipeline.train.rollout import imitate
from pipeline.train.shapes import QWEN25
from tests.train.verl.verl_cells import PATHS, TINY, cell, recipe

STORY = (
    "1 Ann, Bob and Cal entered the hall.\n2 The pear is in the red_box.\n"
    "3 Ann moved the pear to the blue_box.\n4 Ann exited the hall.\n"
    "5 Bob moved the pear to the green_box.\n6 Bob exited the hall.\n7 Cal exited the hall."
)
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
    write_dataset(path, written, PROMPTS["compact"], "train")
    return path


def lessons(dataset: Path, tokenizer: PreTrainedTokenizerBase, what: Imitated) -> Lessons:
    """Build the dataset as verl does, from the section of its own configuration."""
    from verl.trainer.sft_trainer_ray import create_sft_dataset

    found = asked_of_verl(Sft(imitates=what), max_prompt_tokens=400).config["data"]
    from omegaconf import OmegaConf

    config = OmegaConf.create(found)  # type: ignore[call-overload]
    built = create_sft_dataset(str(dataset), config, tokenizer, processor=None)
    assert len(built) == len(built.rows)
    return built  # type: ignore[no-any-return]


@pytest.mark.parametrize(("what", "count"), [("answers", 4), ("traces", 3), ("rule", 3)])
def test_tokens_and_what_is_taught_are_the_local_trainers(
    dataset: Path, tokenizer: PreTrainedTokenizerBase, what: Imitated, count: int
) -> None:
    pytest.importorskip("verl")
    rows = imitable(load_rows(dataset, tokenizer, 400), what).rows
    own = [
        Lesson((*row.prompt, *completion.tokens), len(row.prompt))
        for row, completion in zip(rows, imitate(tokenizer, rows, what), strict=True)
    ]
    ids, taught = collate(own, 0, torch.device("cpu"))
    found = lessons(dataset, tokenizer, what)
    assert len(found) == len(own) == count
    for index, lesson in enumerate(own):
        item, length = found[index], len(lesson.tokens)
        assert torch.equal(item["input_ids"], ids[index, :length])
        assert torch.equal(item["loss_mask"].bool(), taught[index, :length])
        assert torch.equal(item["position_ids"], torch.arange(length))
        assert item[ROW].tolist() == [index]
        learned = tokenizer.decode(item["input_ids"][item["loss_mask"].bool()].tolist())
        assert learned.endswith(f"</answer>{tokenizer.eos_token}")
        assert ("pear" in learned) == (what == "traces")


def asked_of_verl(algorithm: Any = SFT, *, gpu: bool = False, **changes: Any) -> Composed:
    """Compose and validate with the real verl."""
    pytest.importorskip("verl")
    return compose(settings(algorithm, gpu=gpu, **changes), "sft_trainer_engine")


def settings(algorithm: Any = SFT, *, gpu: bool = False, **changes: Any) -> dict[str, Any]:
    """The overrides of an imitating cell with a tiny model, or one of 7B."""
    chosen = cell(algorithm, **changes)
    return sft_overrides(chosen, placement(chosen.train, gpu=gpu), PATHS, rows=20)


def placement(chosen: Train, *, gpu: bool, size: str = "7B") -> Placement:
    """Where a cell imitates."""
    return place(QWEN25[size] if gpu else TINY, chosen, SFT, chosen.cluster)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_verl_accepts_them_in_every_precision(precision: str) -> None:
    found = asked_of_verl(precision=precision)
    assert found.value("trainer.device") == "cuda"
    assert found.value("model.use_remove_padding") is (precision == "bfloat16")
    assert found.value("engine.dtype") == precision
    assert found.value("engine.strategy") == "fsdp2"


def test_every_value_arrives_under_the_name_that_verl_reads() -> None:
    found = asked_of_verl(Sft(imitates="rule"), gradient_clip=0.5, validate_every=3)
    expected = {
        "data.train_files": PATHS.train,
        "data.val_files": None,
        "data.train_batch_size": 8,
        "data.micro_batch_size_per_gpu": 8,
        "data.use_dynamic_bsz": False,
        "data.pad_mode": "no_padding",
        "data.imitates": "rule",
        "data.max_prompt_length": 64,
        "model.path": PATHS.model,
        "model.lora_rank": 0,
        "optim.lr": 1e-6,
        "optim.clip_grad": 0.5,
        "engine.seed": 7,
        "engine.mixed_precision.param_dtype": "fp32",
        "trainer.total_training_steps": 5,
        "trainer.total_epochs": 3,
        "trainer.save_freq": 3,
        "trainer.test_freq": -1,
        "trainer.resume_mode": "auto",
        "trainer.max_ckpt_to_keep": None,
        "trainer.logger": ["console", "file"],
        "tomrl.folder": PATHS.folder,
    }
    assert {key: found.value(key) for key in expected} == expected


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
    *("backend", "checkpoint", "device", "groups_per_micro_batch", "gradient_checkpointing"),
    *("rollouts", "top_p", "clip_range", "clip_range_high", "dual_clip"),
    *("kl_coefficient", "kl_kind", "kl_in_reward", "entropy_coefficient"),
    "allow_no_answers",  # imitation needs none
    *("reward", "max_new_tokens"),  # of what is measured: from the job's description
}
CHANGED: dict[str, Any] = {
    "lora": Lora(rank=4),
    "updates_per_batch": 2,
    "aggregation": "seq-mean-token-mean",
    "temperature": 0.7,
    "prompts_per_step": 4,
    "steps": 9,
    "learning_rate": 3e-6,
    "gradient_clip": 0.5,
    "max_prompt_tokens": 32,
    "validate_every": 3,
    "precision": "bfloat16",
    "cluster": Cluster(gpus=2),
    "tokens_per_micro_batch": 170,
    "think": False,
    "learning_rate_schedule": "linear",
    "save_every": 5,
}


@pytest.mark.parametrize("field", [f for f in Train.model_fields if f not in OTHERS | {"epochs"}])
def test_no_field_of_the_recipe_is_ignored(field: str) -> None:
    before = settings()
    try:
        after = settings(**{field: CHANGED[field]})
    except UserError as error:
        assert field in str(error)
    else:
        assert after != before


@pytest.mark.parametrize("field", ["aggregation", "updates_per_batch", "temperature"])
def test_what_verls_loss_cannot_do_is_refused(field: str) -> None:
    with pytest.raises(UserError, match=f"train.{field}: found {CHANGED[field]}; allowed with sft"):
        settings(**{field: CHANGED[field]})


@pytest.mark.parametrize("gpus", [1, 2, 4])
def test_a_batch_is_shared_out_whole(gpus: int) -> None:
    chosen = recipe(precision="bfloat16", cluster=Cluster(gpus=gpus))
    found = placement(chosen, gpu=True, size="0.5B")
    assert 8 // gpus % found.micro_batch == 0  # one response for each prompt
    with pytest.raises(UserError, match=r"cannot share 8 completions .*prompts_per_step 8 x 1\)"):
        placement(recipe(cluster=Cluster(gpus=3)), gpu=True)


def test_imitation_holds_a_whole_copy_to_measure_with_and_no_reference() -> None:
    chosen = recipe(precision="bfloat16", cluster=Cluster(gpus=4))
    found, shape = placement(chosen, gpu=True), QWEN25["7B"]
    assert found.rollout["rollout weights"] == 2 * shape.parameters
    copies = {"copies": 4 * 2 * shape.parameters}
    assert found.host == {**copies, "more while loading": 0, "offloaded": 0}
    assert found.tensor_parallel == 1
    assert found.update["optimiser"] == 2 * shape.parameters
    thin = placement(chosen.model_copy(update={"lora": Lora(rank=32)}), gpu=True)
    assert thin.host == {**found.host, "before adapters": 2 * shape.parameters}
    assert 20 * thin.update["optimiser"] < found.update["optimiser"]


def test_validation_and_probe_are_measured_under_the_names_of_the_local_trainer(
    dataset: Path, tokenizer: PreTrainedTokenizerBase, tmp_path: Path
) -> None:
    pytest.importorskip("verl")
    from pipeline.ops.verl.sft_trainer import read_questions

    for name in ("validation.parquet", "probe/order_1.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(dataset, tmp_path / name)
    validation, probe = read_questions(tmp_path, tokenizer, recipe(max_prompt_tokens=400))
    assert {name: len(rows) for name, rows in validation.items()} == {"validation_accuracy": 4}
    assert {name: len(rows) for name, rows in probe.items()} == {"probe/order_1": 4}


def test_a_step_that_was_saved_and_not_logged_is_logged_by_who_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between both, a run would else have no figures of its first checkpoint."""
    pytest.importorskip("verl")
    from pipeline.ops.verl import sft_trainer

    logged: list[tuple[int, dict[str, float]]] = []
    log = SimpleNamespace(log=lambda data, step: logged.append((step, data)))
    monkeypatch.setattr(sft_trainer, "Tracking", lambda: log)
    state = State(tmp_path, "1-a")
    state.step(2).mkdir(parents=True)
    (state.checkpoints / PROBE).write_text("[]")
    attempt = sft_trainer.SftTrainer.__new__(sft_trainer.SftTrainer)
    attempt.config = SimpleNamespace(
        trainer=SimpleNamespace(default_local_dir=str(state.checkpoints))
    )
    attempt._step = 2, {"tomrl/loss": 0.5, "tomrl/validation_accuracy": 0.25}

    def die() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(State, "check", lambda _: None)
    attempt._write, attempt._logprobs = die, lambda _: []
    with pytest.raises(KeyboardInterrupt):
        attempt._complete(2)
    assert whole_steps(state) == [2] and unlogged(state, []) == {2: attempt._step[1]}
    following = sft_trainer.SftTrainer.__new__(sft_trainer.SftTrainer)
    following.config, following.resume_global_step = attempt.config, 2
    following._open_log()
    assert logged == [attempt._step]


@pytest.mark.parametrize("saved", [1, 2, 3, 4])
def test_batches_go_on_where_they_were_saved_even_at_the_end_of_a_pass(saved: int) -> None:
    pytest.importorskip("verl")
    whole, state = _walk(0, None, saved)
    assert state is not None and len(whole) == 6
    again, _ = _walk(saved, state, saved)
    assert again == whole[saved:]
    assert len({tuple(rows) for rows in whole}) == 6, "each pass has an order of its own"


def _walk(done: int, state: Any, saved: int) -> tuple[list[list[int]], Any]:
    """Take the batches of six steps as verl's loop does; return them and a state."""
    from torch.utils.data import DistributedSampler
    from verl.utils.dataset.dataset_utils import SFTTensorCollator

    from pipeline.ops.verl.sft_trainer import Batches

    rows = [{ROW: torch.tensor([index]), "ids": torch.arange(index + 1)} for index in range(11)]
    sampler: DistributedSampler[object] = DistributedSampler(
        rows, num_replicas=1, rank=0, seed=3, drop_last=True
    )
    collate = SFTTensorCollator("no_padding")
    batches = Batches(rows, batch_size=4, sampler=sampler, collate_fn=collate, drop_last=True)
    if state is not None:
        batches.load_state_dict(state)
    taken = []
    _, passes = planned(recipe(prompts_per_step=4, steps=6), 11)
    for number in range(done // len(batches), passes):
        sampler.set_epoch(number)
        for batch in batches:
            assert ROW not in batch
            taken.append(batches.rows)
            if done + len(taken) == saved:
                state = batches.state_dict()
            if done + len(taken) == 6:
                return taken, state
    return taken, state
