"""``tomrl plan --cell`` as a user types it: the plan of a cell, or one clear error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result
from typer.testing import CliRunner

from pipeline.base.errors import UserError
from pipeline.cli.app import app
from tests.conftest import PROJECT

CELL = "qwen25-7b-hi-exp"


def asked(folder: Path, *more: str, study: str = "tom-rl", cell: str = CELL) -> Result:
    """Type the command in a folder."""
    command = ["plan", "--study", study, "--cell", cell, *more]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return CliRunner().invoke(app, command, env={"COLUMNS": "200"})


def shown(folder: Path, **of: str) -> str:
    """What is printed."""
    found = asked(folder, **of)
    assert found.exit_code == 0, found.exception
    return found.stdout


def refused(folder: Path, *more: str, **of: str) -> str:
    """The error it ends with."""
    found = asked(folder, *more, **of)
    assert isinstance(found.exception, UserError) and not found.stdout, found.output
    return str(found.exception)


@pytest.fixture
def changed(tmp_path: Path) -> Any:
    """A folder with one study, whose training recipe or grid is changed."""

    def change(study: str, section: str = "train", **values: object) -> Path:
        content = yaml.safe_load((PROJECT / "studies" / f"{study}.yaml").read_text())
        content[section] |= values
        (tmp_path / "studies").mkdir()
        (tmp_path / "dvc.yaml").touch()
        (tmp_path / "studies" / f"{study}.yaml").write_text(yaml.safe_dump(content))
        return tmp_path

    return change


@pytest.mark.verl
def test_the_plan_of_a_cell() -> None:
    text = shown(PROJECT)
    assert "800 steps, 3200 training prompts" in text
    assert "attention: sdpa, sequences padded" in text, "no engine environment has flash_attn here"
    for part in (
        "memory in GiB",
        "unlike arXiv 2504.01698",
        "settings that differ",
        "reference",
        "scoring",
    ):
        assert part in text
    page = (PROJECT / "docs" / "cluster.md").read_text()
    (said,) = (line for line in text.splitlines() if line.startswith("Against arXiv"))
    assert f"\n{said}\n" in page
    command = text[text.index("python -m verl.trainer.main_ppo") :]
    assert "  actor_rollout_ref.actor.optim.lr=5e-07 \\" in command
    assert "  algorithm.adv_estimator=grpo \\" in command
    table = text[: text.index("python -m verl.trainer.main_ppo")]
    assert "actor_rollout_ref.rollout.n " in table and "trainer.resume_mode" not in table


def test_fewer_accelerators_than_needed() -> None:
    error = refused(PROJECT, "--gpus", "1")
    assert "7.6 billion parameters with grpo do not fit on 1 x a100-80: update needs" in error
    assert "Known to fit (in pipeline/ops/verl/sizes.yaml): 2 x a100-80 or h100" in error
    assert error in (PROJECT / "docs" / "cluster.md").read_text()


def test_a_cell_that_trains_locally() -> None:
    text = shown(PROJECT, study="next-ppo-mini", cell="nano-cued-ppo")
    assert "python -m pipeline.stages.train nano-cued-ppo" in text and "main_ppo" not in text


def test_lengths_that_fit_on_nothing(changed: Any) -> None:
    folder = changed("tom-rl", max_new_tokens=1_000_000)
    error = refused(folder, cell="qwen25-05b-hi-exp")
    assert error.endswith("or lower max_prompt_tokens or max_new_tokens")


@pytest.mark.verl
def test_a_cell_that_imitates(changed: Any) -> None:
    text = shown(changed("tom-rl", "grid", algorithms=["sft"]))
    table, command = text.split("python -m verl.trainer.sft_trainer_ray")
    assert "  data.custom_cls.name = Lessons" in table
    assert "  +data.imitates=answers \\" in command and "rollout" not in command


def test_a_cell_that_trains_nothing() -> None:
    error = refused(PROJECT, cell="gpt-4o-base")
    assert "cell gpt-4o-base trains nothing; choose one of: qwen25-05b-hi-exp" in error
