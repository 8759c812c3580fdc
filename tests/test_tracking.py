"""MLflow runs: how they end, how long they took, which is current; and where they are kept."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import monotonic, sleep

import psutil
import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from pipeline.base.errors import UserError
from pipeline.base.home import home_of
from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.params_file import params_text
from pipeline.config.study_files import find_study
from pipeline.evaluate.records import Evaluation
from pipeline.ops.mirror.cell_run import cell_run
from pipeline.ops.mirror.send import complete
from pipeline.ops.mirror.server import EXPERIMENT, prepare, tracking_uri
from pipeline.stages.common import Stage
from pipeline.stages.followed import followed
from tests.alive import until
from tests.analysis.made import scores
from tests.conftest import TINY, commit

KEY = "nano-hi"


@pytest.fixture(scope="module")
def params() -> Params:
    return expand(find_study(TINY, "mini"))


@pytest.fixture
def root(tmp_path: Path, params: Params, tracking: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    shutil.copy(tracking, tmp_path)
    (tmp_path / "params.yaml").write_text(params_text(find_study(TINY, "mini")), encoding="utf-8")
    return tmp_path


def runs(client: MlflowClient, level: str) -> list[Run]:
    experiment = client.get_experiment_by_name(EXPERIMENT)
    return list(client.search_runs([experiment.experiment_id], f"tags.level = '{level}'"))


def shown(root: Path) -> dict[str, float]:
    """What MLflow has of the step of a cell's run that is under way."""
    (run,) = runs(prepare(root), "cell") or [None]
    return dict(run.data.metrics) if run and run.info.status == "RUNNING" else {}


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (None, "FINISHED"),
        (UserError("no such thing\nat all"), "FAILED"),
        (KeyboardInterrupt(), "KILLED"),
    ],
)
def test_a_stage_that_takes_long_is_shown_while_it_works_and_as_it_ends(
    root: Path,
    params: Params,
    error: BaseException | None,
    status: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL", "0.1")

    def work() -> None:
        with followed(Stage("train", root, params).of(KEY), patience=0.2) as said:
            said.step("train", 1, {"accuracy": 0.25}, at=1.0)
            assert until(lambda: shown(root).get("train/accuracy") == 0.25)
            said.step("train", 2, {"accuracy": 0.5}, at=2.0)
            assert until(lambda: shown(root).get("train/accuracy") == 0.5)
            assert until(lambda: shown(root).get("system/system_memory_usage_megabytes", 0) > 0)
            if error is not None:
                raise error

    with pytest.raises(type(error)) if error else nullcontext():
        work()
    for level in ("cell", "study"):
        (ended,) = runs(prepare(root), level)
        assert ended.info.status == status
        assert ended.data.tags.get("failure") == ("no such thing" if status == "FAILED" else None)
    (run,) = runs(prepare(root), "cell")
    points = prepare(root).get_metric_history(run.info.run_id, "train/accuracy")
    assert [(point.step, point.value) for point in points] == [(1, 0.25), (2, 0.5)]


@contextmanager
def working(root: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A stage that works in a process of its own, shown in MLflow."""
    code = (
        "import os, signal, sys, time\n"
        "from pathlib import Path\n"
        "from pipeline.config.params_file import read_params\n"
        "from pipeline.stages.common import Stage\n"
        "from pipeline.stages.followed import followed\n"
        "stage = Stage('train', Path.cwd(), read_params())\n"
        "with followed(stage.of(sys.argv[1]), patience=0) as said:\n"
        "    said.step('train', 1, {'accuracy': 0.25}, at=1.0)\n"
        "    time.sleep(600)\n"
    )
    stage = subprocess.Popen([sys.executable, "-c", code, KEY], cwd=root)
    try:
        assert until(lambda: shown(root))
        yield stage
    finally:
        stage.kill()
        stage.wait()


def test_a_stage_that_is_killed_is_not_shown_for_ever(root: Path, params: Params) -> None:
    with working(root):
        pass
    assert until(lambda: not shown(root))
    (run,) = runs(prepare(root), "cell")
    assert run.info.status == "KILLED"


def test_a_stage_killed_with_its_follower_is_told_of_by_the_next_sender(
    root: Path, params: Params
) -> None:
    with working(root) as stage:
        complete(params, root)
        assert shown(root)  # it works
        for follower in psutil.Process(stage.pid).children():
            follower.kill()
    assert shown(root)
    complete(params, root)
    assert not shown(root)
    (run,) = runs(prepare(root), "cell")
    assert run.info.status == "KILLED"


def test_a_run_lasts_as_long_as_its_stages_worked(root: Path, params: Params) -> None:
    began = monotonic()
    for stage in ("train", "evaluate"):
        with followed(Stage(stage, root, params).of(KEY)):
            sleep(0.3)
        sleep(0.6)
    passed = monotonic() - began
    assert complete(params, root) == [KEY]
    (run,) = runs(prepare(root), "cell")
    worked = sum(float(v) for k, v in run.data.tags.items() if k.startswith("seconds."))
    assert run.info.end_time - run.info.start_time == int(1000 * worked)
    rounded = 0.05 * 2  # the tags say tenths
    assert worked <= passed - 0.6 * 2 + rounded, "the pauses do not count"


def test_a_run_says_who_ran_what_where(root: Path, params: Params) -> None:
    commit(root)
    with followed(Stage("train", root, params).of(KEY)):
        pass
    complete(params, root)
    (run,) = runs(prepare(root), "cell")
    tags = run.data.tags
    assert len(tags["mlflow.source.git.commit"]) == 40 and tags["git.edited"] == "false"
    assert tags["mlflow.user"] and tags["version.torch"] and int(tags["hardware.cores"]) >= 1
    assert tags["hardware.processor"] and tags["hardware.accelerators"]
    assert tags["combination"] == "hi" and tags["algorithm"] == "grpo"


def evaluated(root: Path, params: Params) -> None:
    """Write what the stage ``evaluate`` would."""
    tasks = dict.fromkeys(params.suite.columns, scores(0.5))
    found = Evaluation(engine="hf", prompt="compact", libraries={}, tasks=tasks)
    found.write(root / "runs" / "mini" / KEY / "evaluate" / "metrics.json")


def test_a_short_stage_is_told_of_by_the_next_sender(root: Path, params: Params) -> None:
    with followed(Stage("evaluate", root, params).of(KEY)):
        evaluated(root, params)
    assert not runs(prepare(root), "cell"), "nothing was sent"
    assert complete(params, root) == [KEY] and complete(params, root) == []
    client = prepare(root)
    ended = json.loads((root / "logs" / "mini" / KEY / "evaluate" / "ended.json").read_text())
    for level, tag in (("cell", "seconds.evaluate"), ("study", f"seconds.{KEY}.evaluate")):
        (run,) = runs(client, level)
        assert run.info.start_time == int(1000 * ended["began"])
        assert run.data.tags[tag] == f"{ended['seconds']:.1f}"
    (run,) = runs(client, "cell")
    assert run.info.status == "FINISHED" and run.data.tags["mlflow.user"]
    assert run.data.metrics["evaluate/hi_tom_order_3/accuracy"] == 0.5


def test_a_short_stage_that_fails_says_so_at_once(root: Path, params: Params) -> None:
    with pytest.raises(UserError), followed(Stage("judge", root, params).of(KEY)):
        raise UserError("no such thing\nat all")
    (run,) = runs(prepare(root), "cell")
    assert (run.info.status, run.data.tags["failure"]) == ("FAILED", "no such thing")


def test_a_damaged_note_of_the_end_stops_nothing(
    root: Path, params: Params, caplog: pytest.LogCaptureFixture
) -> None:
    with followed(Stage("evaluate", root, params).of(KEY)):
        evaluated(root, params)
    (root / "logs" / "mini" / KEY / "evaluate" / "ended.json").write_text('{"status": ')
    assert complete(params, root) == [KEY]
    assert "ended.json is damaged" in caplog.text
    (run,) = runs(prepare(root), "cell")
    assert run.data.metrics["evaluate/hi_tom_order_3/accuracy"] == 0.5


def test_sending_results_later_does_not_claim_them(root: Path, params: Params) -> None:
    """What was run at one commit stays so when its files are sent again at another."""
    commit(root)
    with followed(Stage("evaluate", root, params).of(KEY)):
        pass
    complete(params, root)
    (before,) = runs(prepare(root), "cell")
    commit(root)
    evaluated(root, params)
    assert complete(params, root) == [KEY] and complete(params, root) == []
    (after,) = runs(prepare(root), "cell")
    name = "mlflow.source.git.commit"
    assert after.data.tags[name] == before.data.tags[name]


def test_an_edit_gives_the_cell_a_new_run_under_the_same_study(root: Path, params: Params) -> None:
    cell = params.cells[KEY]
    edited = params.model_copy(
        update={"cells": {**params.cells, KEY: cell.model_copy(update={"seed": 5})}}
    )
    for study in (params, edited):
        with followed(Stage("train", root, study).of(KEY)):
            pass
        complete(study, root)
    client = prepare(root)
    (parent,) = runs(client, "study")
    cells = runs(client, "cell")
    assert parent.info.run_name == "study mini"
    assert {run.data.tags["mlflow.parentRunId"] for run in cells} == {parent.info.run_id}
    current = {run.data.tags["seed"]: run.data.tags["current"] for run in cells}
    assert current == {"0": "false", "5": "true"}


def test_worktrees_and_experiments_use_the_home_checkout(root: Path) -> None:
    main = root / "main checkout"
    main.mkdir()
    (main / "dvc.yaml").write_text("stages: {}\n")
    commit(main)
    beside = ("git", "worktree", "add", "-q", str(root / "beside"), "-b", "beside")
    subprocess.run(beside, cwd=main, check=True)
    experiment = main / ".dvc" / "tmp" / "exps" / "standalone" / "tmpabc"
    experiment.mkdir(parents=True)
    for checkout in (main, root / "beside", experiment):
        assert home_of(checkout) == main.resolve()
        assert tracking_uri(checkout) == f"sqlite:///{main.resolve() / 'mlflow.db'}"
    assert home_of(root) == root.resolve()
    submodule = main / "tomrl"
    submodule.mkdir()
    (main / "dvc.yaml").touch()
    (submodule / ".git").write_text("gitdir: ../.git/modules/tomrl\n")
    assert home_of(submodule) == submodule.resolve()


def points(root: Path, name: str) -> list[tuple[int, float]]:
    client = prepare(root)
    (run,) = runs(client, "cell")
    return [(p.step, p.value) for p in client.get_metric_history(run.info.run_id, name)]


def test_a_parameter_of_any_name_is_stored(root: Path, params: Params) -> None:
    run = cell_run(params, KEY, root, "train", 1.0, {})
    run.cell.params({"train": {"overrides": {"++trainer.device": "cpu", "steps": 2}}})
    (found,) = runs(prepare(root), "cell")
    assert found.data.params["train.overrides.trainer.device"] == "cpu"


def test_a_step_that_is_repeated_after_a_kill_is_stored_once(root: Path, params: Params) -> None:
    """A run that goes on from its last checkpoint repeats the steps after it, at other times."""
    for started in (1.0, 100.0):
        run = cell_run(params, KEY, root, "train", started, {})
        for step in (1, 2):
            at = started + step
            run.cell.step("train", step, {"accuracy": 0.25 * step}, at, {"seconds": started})
    assert sorted(points(root, "train/accuracy")) == [(1, 0.25), (2, 0.5)]
    assert len(points(root, "train/seconds")) == 2


def test_a_step_that_went_otherwise_is_stored_again(root: Path, params: Params) -> None:
    """Sampling with verl is repeatable in distribution only."""
    for started, accuracy in ((1.0, 0.25), (100.0, 0.75), (200.0, 0.25)):
        run = cell_run(params, KEY, root, "train", started, {})
        run.cell.step("train", 1, {"accuracy": accuracy}, started)
    assert [value for _, value in points(root, "train/accuracy")] == [0.25, 0.75, 0.25]
