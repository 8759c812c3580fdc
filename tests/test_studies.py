"""Every study file is valid, says what its paper says, and DVC sees all of its cells."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.config.expand import expand
from pipeline.config.params_file import dump_params, read_params
from pipeline.config.sources import HiTomSource
from pipeline.config.study_files import find_study, load_study, study_files
from tests.conftest import PROJECT, Run

STUDIES = sorted(study_files(PROJECT))
REQUIRED = {
    *("mini", "mini-real", "grid-mini", "tom-rl", "rlvr", "grid", "order-ablation"),
    *("next-templates", "next-scale", "next-ppo", "next-fidelity"),
    *("next-templates-mini", "next-scale-mini", "next-ppo-mini", "next-fidelity-mini"),
}


def test_the_studies_of_the_design_exist() -> None:
    assert set(STUDIES) >= REQUIRED


@pytest.mark.parametrize("name", STUDIES)
def test_study_is_valid_and_its_expansion_reads_back(name: str, tmp_path: Path) -> None:
    study = find_study(PROJECT, name)
    assert study.name == name, "the file name is the study name"
    params = expand(study)
    path = tmp_path / "params.yaml"
    path.write_text(dump_params(params))
    assert read_params(path) == params
    assert all("." not in key and "/" not in key for key in params.cells)


def test_committed_params_yaml_holds_the_default_study(project: Path, tmp_path: Path) -> None:
    """In its committed form only: `dvc exp run -S` changes the working copy."""

    def committed(name: str) -> str:
        command = ["git", "show", f"HEAD:{name}"]
        return subprocess.run(
            command, cwd=project, capture_output=True, text=True, check=True
        ).stdout

    (tmp_path / "mini.yaml").write_text(committed("studies/mini.yaml"))
    expected = dump_params(expand(load_study(tmp_path / "mini.yaml")))
    assert committed("params.yaml") == expected


@pytest.mark.parametrize("name", STUDIES)
def test_dvc_sees_every_cell(name: str, checkout: Path) -> None:
    params = expand(find_study(checkout, name))
    (checkout / "params.yaml").write_text(dump_params(params))
    listed = subprocess.run(
        [sys.executable, "-m", "dvc", "stage", "list", "--names-only"],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    for cell in params.cells:
        assert {f"train@{cell}", f"evaluate@{cell}", f"gsm8k@{cell}"} <= set(listed)


def test_tom_rl_is_the_published_recipe(project: Path) -> None:
    study = find_study(project, "tom-rl")
    train, evaluate = study.train, study.evaluate
    assert [study.base.models[m].title for m in study.grid.models] == [
        "Qwen2.5-0.5B-Instruct",
        "Qwen2.5-1.5B-Instruct",
        "Qwen2.5-3B-Instruct",
        "Qwen2.5-7B-Instruct",
        "Qwen2.5-7B-Instruct-1M",
    ]
    assert train.total_steps(3200) == 800
    assert (train.prompts_per_step, train.rollouts, train.learning_rate) == (8, 16, 5e-7)
    assert (train.clip_range, train.kl_coefficient, train.kl_kind) == (0.2, 0.001, "low_var_kl")
    assert (train.entropy_coefficient, train.gradient_clip) == (0.001, 1.0)
    assert (train.temperature, train.top_p) == (1.0, 1.0)
    assert (train.max_prompt_tokens, train.max_new_tokens) == (1024, 2048)
    assert (train.validate_every, train.save_every, train.reward.preset) == (10, 50, "tom-rl")
    assert (evaluate.temperature, evaluate.top_p) == (0.6, 0.95)
    assert (evaluate.prompt, evaluate.base_prompt) == ("tom-rl", "tom-rl-json")
    assert study.grid.algorithms == ("grpo",)
    assert study.dataset.split == "published"
    cells = expand(study).cells
    assert {key for key, cell in cells.items() if cell.kind == "api"} == {
        "gpt-4o-base",
        "gpt-4o-mini-base",
        "deepseek-v3-base",
    }


def test_rlvr_is_the_published_recipe(project: Path) -> None:
    study = find_study(project, "rlvr")
    train = study.train
    assert study.grid.combinations == (
        *("hi", "fan", "exp", "hi-fan", "hi-exp", "fan-exp", "hi-fan-exp"),
    )
    assert study.grid.algorithms == ("reinforce_plus_plus",)
    assert (train.epochs, train.prompts_per_step, train.rollouts) == (10, 8, 8)
    assert (train.learning_rate, train.temperature, train.reward.preset) == (5e-7, 0.6, "rlvr")
    assert train.checkpoint == "best"
    assert len(study.suite.tasks) == 12
    combined = study.dataset.combinations["hi-fan-exp"]
    assert sum(part.limit or 0 for part in combined.train) == 2700
    assert sum(part.limit or 0 for part in combined.validation) == 900


def test_grids_are_five_sizes_by_seven_combinations(project: Path) -> None:
    for name in ("grid", "grid-mini"):
        cells = expand(find_study(project, name)).cells.values()
        assert sum(cell.kind == "trained" for cell in cells) == 35


def test_mini_seeds_is_the_smallest_cell_of_mini(project: Path) -> None:
    one, several = find_study(project, "mini"), find_study(project, "mini-seeds")
    same = {"name", "title", "base", "grid"}
    assert one.model_dump(exclude=same) == several.model_dump(exclude=same)
    assert several.base.models == {"nano": one.base.models["nano"]}
    assert several.grid.seeds == (0, 1, 2, 3, 4)
    assert several.grid.algorithms == ("grpo", "reinforce_plus_plus")


@pytest.mark.parametrize("name", ["rlvr", "grid", "order-ablation", "grid-mini"])
def test_study_2_is_probed_in_and_out_of_distribution(project: Path, name: str) -> None:
    params = expand(find_study(project, name))
    for key, entry in params.dataset.items():
        assert entry.probe is not None
        inside = {c for c in entry.probe.columns if key in params.suite.tasks[c].trained}
        assert inside and set(entry.probe.columns) - inside, key


def test_generated_hi_tom_stories_have_the_shapes_of_the_canonical_set(project: Path) -> None:
    for name in (name for name in STUDIES if find_study(project, name).train.backend == "verl"):
        source = find_study(project, name).acquire.get("hi_tom_style")
        if isinstance(source, HiTomSource):
            assert (source.chapters, set(source.tell)) == ((1, 2, 3), {True, False}), name


def test_study_show_prints_the_recipe(typed: Run) -> None:
    shown = typed("tomrl", "study", "show", "tom-rl")
    assert shown.returncode == 0, shown.stderr
    for text in (
        "8 prompts x 16 rollouts = 128 responses",
        "2 epochs, validation every 10, checkpoints every 50",
        "learning rate 5e-07 constant, gradient clip 1",
        "temperature 0.6, top_p 0.95",
        "Qwen2.5-7B-Instruct-1M",
        "GPT-4o-mini",
    ):
        assert text in shown.stdout


def test_study_use_writes_params_and_says_so(typed: Run, checkout: Path) -> None:
    used = typed("tomrl", "study", "use", "tom-rl")
    assert used.returncode == 0, used.stderr
    assert "13 cells" not in used.stderr
    assert read_params(checkout / "params.yaml").study.name == "tom-rl"
