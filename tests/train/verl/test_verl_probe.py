"""The probe of RL through verl: each column at its steps, and validation as it is without one."""

from __future__ import annotations

import os
import threading
import uuid
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from transformers import AutoTokenizer

from pipeline.base.errors import UserError
from pipeline.data.codec import write_dataset
from pipeline.data.prompt import PROMPTS
from pipeline.model.tiny import make_tokenizer
from pipeline.ops.cluster.job_lines import SPEC
from pipeline.ops.verl.compose import compose
from pipeline.ops.verl.job import VerlAttempt
from pipeline.ops.verl.journal import LoggedStep
from pipeline.ops.verl.layout import COLUMNS, State
from pipeline.ops.verl.overrides import verl_overrides
from pipeline.ops.verl.prompt import write_tokenizer
from pipeline.ops.verl.spec import JobSpec
from pipeline.tasks.example import Example
from pipeline.train.data import load_rows, probed_rows
from tests.train.verl.verl_cells import PATHS, cell, job_spec, recipe

STORY = "1 Ann and Bob entered the hall.\n2 The pear is in the red_box.\n3 Ann exited the hall."
SHORT, LONG = "Where is the pear?", "Where does Ann think Bob thinks Ann thinks the pear is?"
LIMIT = 50  # tokens, between the two questions' prompts
VALIDATION_SECONDS = 1000.0
VALIDATED = "val-core/hi_tom/acc/mean@1"
ROWS, STEPS = 20, 6  # 8 prompts a step: an epoch ends with the steps 3 and 5


def examples(name: str, questions: list[str]) -> list[Example]:
    return [
        Example("hi_tom", "hi_tom", STORY, question, "red_box", id=f"{name}{index}", order=1)
        for index, question in enumerate(questions)
    ]


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the process, in whose place ``datasets`` puts a copy."""
    monkeypatch.setattr(os, "environ", os.environ)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What a stage uploads of a cell whose probe has two columns of one task."""
    (tmp_path / COLUMNS).mkdir()
    asked = {"near": [SHORT, SHORT, LONG], "far": [SHORT] * 4}
    for name, questions in asked.items():
        path = tmp_path / COLUMNS / f"{name}.parquet"
        write_dataset(path, examples(name, questions), PROMPTS["compact"], "probe")
    spec(tmp_path).write(tmp_path / SPEC)
    tokenizer = make_tokenizer([STORY, SHORT, LONG] * 3, 400)
    tokenizer.save_pretrained(tmp_path / "model")
    (tmp_path / "model" / "config.json").write_text("{}")  # names no further ends
    write_tokenizer(tmp_path / "model", tmp_path / "tokenizer")
    return tmp_path


def spec(folder: Path) -> JobSpec:
    chosen = cell(steps=STEPS, max_prompt_tokens=LIMIT)
    return job_spec(chosen, folder, rows=ROWS, validation={"hi_tom": 2})


class Trainer:
    """A loop with the calls that verl's makes, in its order, and a validation in its manner.

    After each step one more prompt of each file is answered rightly; none after the first.
    """

    def __init__(self, config: object, tokenizer: object) -> None:
        begins = SimpleNamespace(val_before_train=True)
        self.config = SimpleNamespace(data=config, trainer=begins)
        self.tokenizer, self.processor = tokenizer, None
        self.asked = list[int]()  # the step of each validation, and of each probe
        self.val_dataloader = [{"extra_info": [{"id": f"v{index}"} for index in range(2)]}]
        self.global_steps, self.logged = 0, dict[int, dict[str, float]]()
        self.dumped, self.failing = list[tuple[int, int]](), set[str]()
        self._lock = threading.Lock()  # verl's has what can only be shared

    def on_validate_begin(self) -> None:
        pass

    def on_validate_end(self) -> None:
        pass

    def _validate(self) -> dict[str, float]:
        self.asked.append(self.global_steps)
        right: dict[str, float] = {}
        for batch in self.val_dataloader:
            ids = [info["id"] for info in batch["extra_info"]]
            batch["uid"] = np.array([str(uuid.uuid4()) for _ in ids], dtype=object)
            for uid, name in zip(batch["uid"], ids, strict=True):
                if name not in self.failing:
                    right[uid] = float(int(name[-1]) + 1 < self.global_steps)
        uids = sorted(right)  # not in the order in which they were asked
        self._maybe_log_val_generations(inputs=uids, outputs=uids, scores=uids)
        self._dump_generations(inputs=uids, dump_path="validation")
        rewards = defaultdict(list, acc=[right[uid] for uid in uids])
        return self._val_metrics_update(
            ["hi_tom"] * len(uids), uids, rewards, [1] * len(uids), expected_acc_counts={}
        )

    def _maybe_log_val_generations(self, inputs: Any, outputs: Any, scores: Any) -> None:
        self._dump_generations(inputs, "table")

    def _dump_generations(self, inputs: Any, dump_path: str) -> None:
        self.dumped.append((self.global_steps, len(inputs)))

    def _val_metrics_update(
        self, sources: Any, uids: Any, rewards: Any, turns: Any, expected_acc_counts: Any = None
    ) -> dict[str, float]:
        return {VALIDATED: float(np.mean(rewards["acc"]))}

    def _compute_metrics(
        self, batch: object, metrics: Any, timing: Any, global_steps: int, epoch: int
    ) -> None:
        metrics |= {f"timing_s/{name}": seconds for name, seconds in timing.items()}

    def fit(self, steps: int, *, validates_every: int, done: int = 0) -> None:
        self.global_steps = done
        if self.config.trainer.val_before_train:
            self.logged[done] = self._validate()
        for self.global_steps in range(done + 1, steps + 1):
            metrics: dict[str, float] = {}
            timing = {"step": 1.0}
            if self.global_steps % validates_every == 0 or self.global_steps == steps:
                timing["testing"] = VALIDATION_SECONDS
                metrics |= self._validate()
            step = self.global_steps
            self._compute_metrics(None, metrics, timing, global_steps=step, epoch=0)
            self.logged[step] = metrics


@pytest.fixture
def trainer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Trainer:
    """A trainer with the real settings and tokenizer of a cell."""
    pytest.importorskip("verl")
    from omegaconf import OmegaConf

    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", folder / "cache")
    chosen = spec(folder)
    overrides = verl_overrides(chosen.cell, chosen.placement, PATHS, ROWS)
    config: Any = compose(overrides).value("data")
    tokenizer = AutoTokenizer.from_pretrained(folder / "tokenizer")
    return Trainer(OmegaConf.create(config), tokenizer)


def probed(
    trainer: Trainer, folder: Path, unlogged: bool = False, **how: Any
) -> dict[int, dict[str, float]]:
    """Train with the probe; return its figures by step, with no step that has none."""
    from pipeline.ops.verl.rl_probe import measure_probe

    trainer.config.trainer.val_before_train = not how.get("done") or unlogged
    measure_probe(trainer, folder / COLUMNS)
    trainer.fit(STEPS, **how)
    figures = {
        step: {name: value for name, value in row.items() if name.startswith("tomrl/")}
        for step, row in trainer.logged.items()
    }
    return {step: found for step, found in figures.items() if found}


def test_each_column_is_measured_on_the_base_model_by_epoch_and_at_the_end(
    trainer: Trainer, folder: Path
) -> None:
    found = probed(trainer, folder, validates_every=2)
    # Of the prompts of "near" one is too long, so that two are left.
    assert found == {
        0: {"tomrl/probe/near": 0.0, "tomrl/probe/far": 0.0},
        3: {"tomrl/probe/near": 1.0, "tomrl/probe/far": 0.5},
        5: {"tomrl/probe/near": 1.0, "tomrl/probe/far": 1.0},
        6: {"tomrl/probe/near": 1.0, "tomrl/probe/far": 1.0},
    }


def test_validation_stays_what_it_is_without_a_probe(trainer: Trainer, folder: Path) -> None:
    alone = Trainer(trainer.config.data, trainer.tokenizer)
    alone.fit(STEPS, validates_every=2)
    probed(trainer, folder, validates_every=2)
    assert trainer.dumped == alone.dumped
    accuracy = {step: row.get(VALIDATED) for step, row in trainer.logged.items()}
    assert accuracy == {step: row.get(VALIDATED) for step, row in alone.logged.items()}
    assert [step for step, figure in accuracy.items() if figure is not None] == [0, 2, 4, 6]


def test_a_probe_counts_to_the_seconds_of_validation(trainer: Trainer, folder: Path) -> None:
    probed(trainer, folder, validates_every=2)
    seconds = {step: row.get("timing_s/testing", 0.0) for step, row in trainer.logged.items()}
    assert seconds[1] == 0 < seconds[3] < VALIDATION_SECONDS == seconds[2] < seconds[6]


def test_a_run_that_goes_on_measures_what_is_left(trainer: Trainer, folder: Path) -> None:
    assert list(probed(trainer, folder, validates_every=1, done=3)) == [5, 6]


def test_a_run_that_goes_on_from_an_unlogged_step_measures_it(
    trainer: Trainer, folder: Path
) -> None:
    found = probed(trainer, folder, validates_every=1, done=5, unlogged=True)
    assert list(found) == [5, 6]
    again = Trainer(trainer.config.data, trainer.tokenizer)
    assert list(probed(again, folder, validates_every=1, done=4)) == [5, 6]
    assert again.asked == [5, 5, 6, 6], "each once, beside its validation"


def test_an_answer_that_failed_counts_as_wrong_in_its_own_column(
    trainer: Trainer, folder: Path
) -> None:
    trainer.failing = {"far0", "far2"}
    last = probed(trainer, folder, validates_every=1)[STEPS]
    assert last == {"tomrl/probe/near": 1.0, "tomrl/probe/far": 0.5}


def test_what_is_left_out_is_what_the_local_trainer_leaves_out(folder: Path) -> None:
    tokenizer, asked = AutoTokenizer.from_pretrained(folder / "model"), {}
    for path in (folder / COLUMNS).iterdir():
        asked[path.stem] = len(load_rows(path, tokenizer, LIMIT).rows)
    assert asked == {"near": 2, "far": 4}
    told: list[str] = []
    short = recipe(max_prompt_tokens=LIMIT)
    found = probed_rows(folder / COLUMNS, tokenizer, short, told.append)
    assert {name: len(rows) for name, rows in found.items()} == asked
    assert told == ["probe near: 1 of 3 prompts are longer than 50 tokens and are left out"]
    with pytest.raises(UserError, match=r"far.parquet: all 4 prompts are longer than"):
        probed_rows(folder / COLUMNS, tokenizer, recipe(max_prompt_tokens=4), told.append)


def test_a_dataset_without_a_probe_has_nothing_to_check(tmp_path: Path) -> None:
    tokenizer, told = make_tokenizer([STORY] * 3, 400), list[str]()
    assert probed_rows(tmp_path / COLUMNS, tokenizer, recipe(), told.append) == {} and not told


def test_the_job_asks_for_the_columns_that_it_was_sent(folder: Path, tmp_path: Path) -> None:
    name = "+trainer.v1.sampler.sampler_kwargs.probe"
    (tmp_path / "plain").mkdir()
    found = {}
    for sent in (folder, tmp_path / "plain"):
        job = VerlAttempt(spec(sent), sent, State(sent / "state", "1-a"))
        found[sent] = job._overrides(_named_architecture(folder), 0)
    assert found[folder].pop(name) == str(folder / COLUMNS)
    assert found[folder].keys() == found[tmp_path / "plain"].keys()


def test_a_base_that_answers_nothing_is_not_trained_by_reward(tmp_path: Path) -> None:
    logged = {VALIDATED: 0.0, "val-aux/hi_tom/answered/mean@1": 0.0}
    sent = job_spec(cell(), tmp_path, rows=ROWS, validation={"hi_tom": 2})
    job = VerlAttempt(sent, tmp_path, State(tmp_path / "state", "1-a"))
    with pytest.raises(UserError, match="gives no answer to any of the 2 validation prompts"):
        job._note(LoggedStep(step=0, data=logged))
    assert not job.journal.history.steps


def _named_architecture(folder: Path) -> Path:
    """A model's folder of which the job reads the configuration only."""
    config = '{"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}'
    (folder / "model" / "config.json").write_text(config)
    return folder / "model"
