"""Every study file is valid, says what its paper says, and DVC sees all of its cells."""

from __future__ import annotations

import subprocess
from itertools import product
from pathlib import Path

import pytest
from dvc.repo import Repo

from flows.driver.graph import Graph
from pipeline.analysis.ledger.ledger import re_runs_a_paper
from pipeline.analysis.ledger.measures import FEWEST_STEPS
from pipeline.base.plugins import REWARDS
from pipeline.config.expand import expand
from pipeline.config.params import TrainedCell
from pipeline.config.params_file import params_text, read_params
from pipeline.config.reward import LENIENT, PublishedReward
from pipeline.config.sources import HiTomSource
from pipeline.config.study_files import find_study, load_study, study_files
from pipeline.ops.verl.plan import count_rows
from pipeline.reward.presets import load_preset
from pipeline.train.schedule import Schedule
from tests.conftest import PROJECT, TINY, copy_checkout
from tests.said import tomrl

STUDIES = sorted(study_files(PROJECT))


@pytest.mark.parametrize("name", STUDIES)
def test_study_is_valid_and_its_expansion_reads_back(name: str, tmp_path: Path) -> None:
    study = find_study(PROJECT, name)
    assert study.name == name, "the file name is the study name"
    params = expand(study)
    path = tmp_path / "params.yaml"
    path.write_text(params_text(study))
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
    expected = params_text(load_study(tmp_path / "mini.yaml"))
    assert committed("params.yaml") == expected


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout whose params.yaml tests write."""
    return copy_checkout(tmp_path_factory.mktemp("studies") / "a folder with spaces")


@pytest.mark.parametrize("name", STUDIES)
def test_dvc_sees_every_cell(name: str, clone: Path) -> None:
    study = find_study(clone, name)
    params = expand(study)
    (clone / "params.yaml").write_text(params_text(study))
    with Repo(str(clone)) as repo:
        listed = {stage.name for stage in repo.index.stages}
    for cell in params.cells:
        assert {f"{stage}@{cell}" for stage in Graph.of(clone).cell} <= listed


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_but_the_re_run_of_study_1_pays_strict_matches(name: str) -> None:
    reward = find_study(PROJECT, name).train.reward
    assert load_preset(reward.preset).lenient == (name == "tom-rl")
    assert isinstance(reward, PublishedReward) == (name == "tom-rl")


def _shows_recounts(name: str) -> bool:
    traces = (getattr(s, "trace", None) for s in find_study(PROJECT, name).acquire.values())
    return not {"recount", "walk", "track"}.isdisjoint(traces)


def test_every_study_of_a_paper_or_of_recounts_tries_the_reasoning_of_its_models() -> None:
    recounting = set(filter(_shows_recounts, STUDIES))
    assert recounting >= {"mini", "grid-mini", "smol", "next-scale-mini", "next-templates-mini"}
    of_papers = {name for name in STUDIES if re_runs_a_paper(find_study(PROJECT, name).paper)}
    for name in recounting | of_papers:
        cells = expand(find_study(PROJECT, name)).cells.values()
        asked = [cell.evaluate for cell in cells if not cell.evaluate.programs]
        assert min(each.tried for each in asked) >= 60, name


def test_a_preset_is_lenient_where_a_reason_is_asked_for() -> None:
    assert set(LENIENT) == {name for name in REWARDS if load_preset(name).lenient}


def test_rlvr_asks_the_published_columns(project: Path) -> None:
    columns = find_study(project, "rlvr").suite.tasks
    beside = {name for name in columns if name.endswith("_so") or "accessibility" in name}
    beside |= {"fantom_sets", "pairs"}
    assert beside == {
        *("fantom_sets", "pairs", "opentom_location_so", "opentom_fullness_so"),
        *("opentom_accessibility", "opentom_accessibility_so"),
    }
    assert len(columns) - len(beside) == 12  # as the paper has
    hi_tom = {name: column.task for name, column in columns.items() if name.startswith("hi_tom")}
    assert hi_tom.pop("hi_tom_generated") == "hi_tom_style"
    assert hi_tom == {f"hi_tom_order{order}": "hi_tom" for order in (1, 2, 3, 4)}


def test_the_grid_tells_algorithm_from_data(project: Path) -> None:
    """Both papers' algorithms over both papers' data, at five sizes, and nothing else differs."""
    cells = [c for c in expand(find_study(project, "grid")).cells.values() if c.kind == "trained"]
    models, combinations = {c.model for c in cells}, {c.combination for c in cells}
    assert combinations == {
        "study-1",
        *("hi", "fan", "exp", "hi-fan", "hi-exp", "fan-exp", "hi-fan-exp"),
    }
    algorithms = ("grpo", "reinforce_plus_plus")
    found = {(c.model, c.combination, c.algorithm.name) for c in cells}
    assert len(models) == 5 and found == set(product(models, combinations, algorithms))
    assert len({c.train.model_dump_json() for c in cells}) == 1


def test_the_miniature_grid_is_five_sizes_by_seven_combinations(project: Path) -> None:
    cells = expand(find_study(project, "grid-mini")).cells.values()
    assert sum(cell.kind == "trained" for cell in cells) == 35


def test_mini_seeds_repeats_mini_with_controls(project: Path) -> None:
    one, several = find_study(project, "mini"), find_study(project, "mini-seeds")
    other = {"name", "title", "base", "grid"}
    assert one.model_dump(exclude=other) == several.model_dump(exclude=other)
    once, again = expand(one), expand(several)
    assert again.base["nano-s0"].model_dump() == once.base["nano"].model_dump() | {
        "model": once.base["nano"].model.model_dump() | {"seed": 0}
    }
    for combination in ("cued", "balanced"):
        mine, repeated = (
            once.cells[f"nano-{combination}"],
            again.cells[f"nano-{combination}-grpo-s0"],
        )
        assert isinstance(mine, TrainedCell) and isinstance(repeated, TrainedCell)
        assert (mine.train, mine.algorithm, mine.seed) == (
            repeated.train,
            repeated.algorithm,
            repeated.seed,
        )
    groups = {cell.group for cell in again.cells.values() if isinstance(cell, TrainedCell)}
    arms = ("grpo", "random")
    assert groups == {f"nano-{c}-{arm}" for c in ("cued", "balanced") for arm in arms}


def test_supervised_training_and_rl_have_the_same_data_and_arms_at_both_scales(
    project: Path,
) -> None:
    small, large = find_study(project, "sft-or-rl-mini"), find_study(project, "sft-or-rl")
    arms = [
        {name: arm.algorithm for name, arm in study.grid.arms.items()} for study in (small, large)
    ]
    assert arms[0] == arms[1]
    assert large.train.backend == "verl"
    for study in (small, large):
        rules = {
            name: {part.rule for part in combination.train}
            for name, combination in study.dataset.combinations.items()
        }
        assert rules == {"cued": {"right"}, "balanced": {"half"}}


@pytest.mark.parametrize("name", ["rlvr", "grid", "order-ablation", "grid-mini"])
def test_study_2_is_asked_in_and_out_of_distribution_along_its_training(
    project: Path, name: str
) -> None:
    params = expand(find_study(project, name))
    for key, cell in params.cells.items():
        if isinstance(cell, TrainedCell):
            tasks = params.suite.tasks
            inside = {name for name, task in tasks.items() if cell.combination in task.trained}
            assert inside and tasks.keys() - inside, key
            schedule = Schedule.of(cell.train, count_rows(params, cell))
            asked = [0, *schedule.keeps(schedule.total)] if cell.keeps else []
            assert len(asked) >= FEWEST_STEPS, key


def test_generated_hi_tom_stories_have_the_shapes_of_the_canonical_set(project: Path) -> None:
    trained = (name for name in STUDIES if find_study(project, name).train.backend == "verl")
    for name in trained:
        source = find_study(project, name).acquire.get("hi_tom_style")
        if isinstance(source, HiTomSource) and not name.startswith("smoke"):  # they measure nothing
            assert (source.chapters, set(source.tell)) == ((1, 2, 3), {True, False}), name


def test_study_show_prints_the_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    shown = tomrl("study", "show", "tom-rl", columns=200)
    for text in (
        "Study 1",
        "train.rollouts",
        "5e-07",
        "{preset: tom-rl, published:",
        "Qwen2.5-7B-Instruct-1M",
        "GPT-4o-mini",
    ):
        assert text in shown


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_a_study_from_another_editor_is_the_same(start: str, end: str, tmp_path: Path) -> None:
    path = tmp_path / "mini.yaml"
    text = (PROJECT / "studies" / "mini.yaml").read_text()
    path.write_bytes((start + text.replace("\n", end)).encode())
    assert load_study(path) == find_study(PROJECT, "mini")


@pytest.mark.parametrize("written", ["1e-6", "1E-6", "1.0e-6", "0.000001"])
def test_a_number_may_have_an_exponent_however_it_is_written(written: str, tmp_path: Path) -> None:
    path = tmp_path / "mini.yaml"
    text = (TINY / "studies" / "mini.yaml").read_text()
    path.write_text(text.replace("learning_rate: 0.0004", f"learning_rate: {written}"))
    assert load_study(path).train.learning_rate == 1e-6


@pytest.mark.parametrize(
    "text", ["1e5", "[/bold]", "\x1b[31mred", "null", "true", "a: b", "é\u2028"]
)
def test_texts_come_back_from_params_as_they_were(text: str, tmp_path: Path) -> None:
    study = find_study(PROJECT, "mini").model_copy(update={"title": text})
    (tmp_path / "params.yaml").write_text(params_text(study))
    assert read_params(tmp_path / "params.yaml").study.title == text
