"""Cells that start from other cells, from the study file to what the report says of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.analysis.collect import collect
from pipeline.analysis.dvc_files import curve
from pipeline.analysis.figures.curves import training_curves
from pipeline.analysis.results import Results
from pipeline.analysis.steps import STEPS, step_findings, steps
from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.study_files import load_study
from pipeline.data.connection import Connection
from pipeline.formats.files import read_json, read_lines
from pipeline.model.manifest import Manifest
from pipeline.stages import audit, base, evaluate, judge, suite, train
from pipeline.stages.common import Stage
from tests.conftest import TINY
from tests.stages.made import make_data

WARM, GRPO, HARDER = "nano-easy-warm", "nano-easy-grpo", "nano-hard-harder"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """The tests' chained study, trained."""
    root = tmp_path_factory.mktemp("a checkout")
    params = expand(load_study(TINY / "studies" / "chain.yaml"))
    make_data(root, params)
    base.main(Stage("base", root, params), "nano")
    stage = Stage("train", root, params)
    for key in (WARM, GRPO, HARDER):
        train.main(stage, key)
    return stage


def test_a_cell_starts_from_the_weights_that_the_one_before_is_evaluated_with(stage: Stage) -> None:
    for key, first in ((GRPO, WARM), (HARDER, GRPO)):
        folder = stage.runs / first / "train"
        used = Manifest.read_of(folder / "checkpoints.json", "nano", "").used
        config = read_json(stage.runs / key / "train" / "config.json")
        assert isinstance(config, dict)
        start = config["start"]
        assert (start["cell"], start["digest"], start["step"]) == (first, used.digest, used.step)
        rows = read_lines(stage.runs / key / "train" / "metrics.jsonl")
        assert rows[1]["kl"] == pytest.approx(0, abs=1e-9), "the reference is where it starts"
    config = read_json(stage.runs / WARM / "train" / "config.json")
    assert isinstance(config, dict) and "start" not in config


def test_what_it_starts_from_must_be_there(stage: Stage, tmp_path: Path) -> None:
    shutil.copytree(stage.root / "data", tmp_path / "data")
    with pytest.raises(UserError, match=f"dvc repro .*train@{WARM}"):
        train.main(Stage("train", tmp_path, stage.params), GRPO)
    shutil.copytree(stage.runs, tmp_path / "runs" / "chain")
    with pytest.raises(UserError, match=f"stage train@{WARM} made, is not in"):
        train.main(Stage("train", tmp_path, stage.params), GRPO)


@pytest.fixture(scope="module")
def results(stage: Stage) -> Results:
    root, params = stage.root, stage.params
    suite.main(Stage("suite", root, params))
    audit.main(Stage("audit", root, params))
    train.main(stage, "nano-base")
    for key in params.cells:
        evaluate.main(Stage("evaluate", root, params), key)
        judge.main(Stage("judge", root, params), key)
    (root / "studies" / "records").mkdir(parents=True)
    return collect(params, root)


def test_what_earlier_trainings_showed_counts(results: Results) -> None:
    cells = results.params.cells
    found = {
        key: {column: results.mark_of(column, cells[key]) for column in ("order_1", "order_2")}
        for key in (GRPO, HARDER)
    }
    connections = {
        key: [mark.connection for mark in marks.values() if mark] for key, marks in found.items()
    }
    assert connections[GRPO][0] is Connection.TRAINED
    assert connections[GRPO][1] is not Connection.TRAINED
    assert connections[HARDER] == [Connection.TRAINED, Connection.TRAINED]


def test_the_report_shows_each_step_beside_the_whole(results: Results) -> None:
    found = steps(results)
    assert {(each["cell"], each["starts_from"]) for each in found} == {(GRPO, WARM), (HARDER, GRPO)}
    assert {each["task"] for each in found} == {"order_1", "order_2", "arithmetic"}
    for each in found:
        accuracy = {
            key: results.cells[key].all_tasks()[each["task"]].accuracy
            for key in ("nano-base", each["starts_from"], each["cell"])
        }
        base, before, after = accuracy.values()
        assert (each["base"], each["before"], each["after"]) == (base, before, after)
        assert (each["change"], each["whole"]) == (after - before, after - base)
        assert each["interval"] is not None and len(STEPS.texts(each)) == len(STEPS.headings)
    sentences = list(step_findings(results, results.trained()))
    assert sentences[0].startswith(f"{GRPO} starts from {WARM}: on average over 2 columns")


def test_what_imitates_shows_its_loss_in_place_of_a_reward(results: Results) -> None:
    titles = [axis.get_title() for axis in training_curves(results).axes]
    drawn = {axis.get_title(): len(axis.lines) for axis in training_curves(results).axes}
    assert titles[:3] == ["validation accuracy (%)", "mean reward", "loss of imitation (nats)"]
    assert [drawn[title] for title in titles[:3]] == [3, 2, 1]
    curves = {result.key: curve(result.curve)[-1].keys() for result in results.trained()}
    assert "loss" in curves[WARM] and "reward_mean" not in curves[WARM]
    assert "reward_mean" in curves[GRPO] and "loss" not in curves[GRPO]
