"""MLflow runs: how they end, how long they took, which is current; and where they are kept."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from time import monotonic, sleep

import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from pipeline.base.errors import UserError
from pipeline.base.home import home_of
from pipeline.base.ports import free_ports
from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.study_files import find_study
from pipeline.evaluate.records import Evaluation
from pipeline.ops.mirror.send import complete
from pipeline.ops.mirror.server import EXPERIMENT, LATER_VARIABLE, prepare, tracking_uri
from pipeline.ops.mirror.tracked import tracked
from pipeline.stages.common import Stage
from pipeline.stages.followed import PATIENCE
from tests.analysis.made import scores
from tests.conftest import TINY

KEY = "nano-hi"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def params() -> Params:
    return expand(find_study(TINY, "mini"))


def runs(client: MlflowClient, level: str) -> list[Run]:
    experiment = client.get_experiment_by_name(EXPERIMENT)
    return list(client.search_runs([experiment.experiment_id], f"tags.level = '{level}'"))


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (None, "FINISHED"),
        (UserError("no such thing\nat all"), "FAILED"),
        (KeyboardInterrupt(), "KILLED"),
    ],
)
def test_a_run_ends_as_its_stage_does(
    root: Path, params: Params, error: BaseException | None, status: str
) -> None:
    client = prepare(root)

    def work() -> None:
        with tracked(Stage("train", root, params), KEY, patience=0) as tracker:
            tracker.step("train", 1, {"accuracy": 0.5}, at=1.0)
            (started,) = runs(client, "cell")
            assert started.info.status == "RUNNING"
            if error is not None:
                raise error

    if error is None:
        work()
    else:
        with pytest.raises(type(error)):
            work()
    for level in ("cell", "study"):
        (ended,) = runs(client, level)
        assert ended.info.status == status
        said = ended.data.tags.get("failure")
        assert said == ("no such thing" if status == "FAILED" else None)


def test_a_run_lasts_as_long_as_its_stages_worked(root: Path, params: Params) -> None:
    began = monotonic()
    for stage in ("train", "evaluate"):
        with tracked(Stage(stage, root, params), KEY, patience=0):
            sleep(0.3)
        sleep(0.6)
    passed = monotonic() - began
    (run,) = runs(prepare(root), "cell")
    worked = sum(float(v) for k, v in run.data.tags.items() if k.startswith("seconds."))
    assert run.info.end_time - run.info.start_time == int(1000 * worked)
    rounded = 0.05 * 2  # the tags say tenths
    assert worked <= passed - 0.6 * 2 + rounded, "the pauses do not count"


def test_a_run_says_who_ran_what_where(root: Path, params: Params) -> None:
    for command in (
        ("init", "-q"),
        (
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b.c",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "first",
        ),
    ):
        subprocess.run(["git", *command], cwd=root, check=True)
    with tracked(Stage("train", root, params), KEY, patience=0):
        pass
    (run,) = runs(prepare(root), "cell")
    tags = run.data.tags
    assert len(tags["mlflow.source.git.commit"]) == 40 and tags["git.edited"] == "false"
    assert tags["mlflow.user"] and tags["version.torch"] and int(tags["hardware.cores"]) >= 1
    assert tags["hardware.processor"] and tags["hardware.accelerators"]
    assert tags["combination"] == "hi" and tags["algorithm"] == "grpo"


def evaluated(root: Path, params: Params) -> None:
    """Write what the stage ``evaluate`` would."""
    tasks = dict.fromkeys(params.suite.tasks, scores(0.5))
    found = Evaluation(engine="hf", prompt="compact", libraries={}, tasks=tasks)
    found.write(root / "runs" / "mini" / KEY / "evaluate" / "metrics.json")


@pytest.mark.parametrize("patience", [PATIENCE, 0.0])
def test_a_stage_that_begins_in_an_outage(
    root: Path, params: Params, monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    """It is refused; not where somebody has seen MLflow answer, and sends later what it missed."""
    stage = Stage("evaluate", root, params)
    with monkeypatch.context() as outage:
        outage.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{free_ports(1)[0]}")
        with pytest.raises(UserError, match="does not answer"), tracked(stage, KEY, patience):
            pytest.fail("it began")
        outage.setenv(LATER_VARIABLE, "1")
        with tracked(stage, KEY, patience) as tracker:
            tracker.look()
            evaluated(root, params)
    assert complete(params, root) == [KEY] and complete(params, root) == []
    (run,) = runs(prepare(root), "cell")
    assert run.info.status == "FINISHED" and "evaluate/hi_tom_order_3/accuracy" in run.data.metrics


def test_a_short_stage_is_told_of_by_the_next_sender(root: Path, params: Params) -> None:
    with tracked(Stage("evaluate", root, params), KEY) as tracker:
        tracker.look()
        evaluated(root, params)
    assert not (root / "mlflow.db").exists(), "nothing was sent"
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


def test_a_stage_that_takes_long_is_shown_while_it_works(root: Path, params: Params) -> None:
    with tracked(Stage("train", root, params), KEY, patience=0.2) as tracker:
        tracker.step("train", 1, {"accuracy": 0.25}, at=1.0)
        assert not (root / "mlflow.db").exists()
        sleep(0.2)
        tracker.look()
        (run,) = runs(prepare(root), "cell")
        assert run.info.status == "RUNNING"
        assert run.data.metrics["train/accuracy"] == 0.25, "what was said before is not lost"


def test_a_short_stage_that_fails_says_so_at_once(root: Path, params: Params) -> None:
    with pytest.raises(UserError), tracked(Stage("judge", root, params), KEY):
        raise UserError("no such thing\nat all")
    (run,) = runs(prepare(root), "cell")
    assert (run.info.status, run.data.tags["failure"]) == ("FAILED", "no such thing")


def test_a_damaged_note_of_the_end_stops_nothing(
    root: Path, params: Params, caplog: pytest.LogCaptureFixture
) -> None:
    with tracked(Stage("evaluate", root, params), KEY):
        evaluated(root, params)
    (root / "logs" / "mini" / KEY / "evaluate" / "ended.json").write_text('{"status": ')
    assert complete(params, root) == [KEY]
    assert "ended.json is damaged" in caplog.text
    (run,) = runs(prepare(root), "cell")
    assert run.data.metrics["evaluate/hi_tom_order_3/accuracy"] == 0.5


def test_sending_results_later_does_not_claim_them(root: Path, params: Params) -> None:
    """What was run at one commit stays so when its files are sent again at another."""
    commit = ("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "--allow-empty", "-m")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", *commit, "first"], cwd=root, check=True)
    with tracked(Stage("evaluate", root, params), KEY, patience=0):
        pass
    (before,) = runs(prepare(root), "cell")
    subprocess.run(["git", *commit, "second"], cwd=root, check=True)
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
        with tracked(Stage("train", root, study), KEY, patience=0):
            pass
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
    for command in (
        ("init", "-q"),
        ("add", "-A"),
        ("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "first"),
        ("worktree", "add", "-q", str(root / "beside"), "-b", "beside"),
    ):
        subprocess.run(["git", *command], cwd=main, check=True)
    experiment = main / ".dvc" / "tmp" / "exps" / "standalone" / "tmpabc"
    experiment.mkdir(parents=True)
    for checkout in (main, root / "beside", experiment):
        assert home_of(checkout) == main.resolve()
        assert tracking_uri(checkout) == f"sqlite:///{main.resolve() / 'mlflow.db'}"
    assert home_of(root) == root.resolve()


def test_a_step_that_is_repeated_after_a_kill_is_stored_once(root: Path, params: Params) -> None:
    """A run that goes on from its last checkpoint repeats the steps after it, at other times."""
    for started in (1.0, 100.0):
        with tracked(Stage("train", root, params), KEY, patience=0) as tracker:
            for step in (1, 2):
                at = started + step
                tracker.step("train", step, {"accuracy": 0.25 * step}, at, {"seconds": started})
    client = prepare(root)
    (run,) = runs(client, "cell")
    points = [
        (p.step, p.value) for p in client.get_metric_history(run.info.run_id, "train/accuracy")
    ]
    assert sorted(points) == [(1, 0.25), (2, 0.5)]
    assert len(client.get_metric_history(run.info.run_id, "train/seconds")) == 2


def test_a_step_that_went_otherwise_is_stored_again(root: Path, params: Params) -> None:
    """Sampling with verl is repeatable in distribution only."""
    for started, accuracy in ((1.0, 0.25), (100.0, 0.75), (200.0, 0.25)):
        with tracked(Stage("train", root, params), KEY, patience=0) as tracker:
            tracker.step("train", 1, {"accuracy": accuracy}, started)
    client = prepare(root)
    (run,) = runs(client, "cell")
    assert len(client.get_metric_history(run.info.run_id, "train/accuracy")) == 3
    assert run.data.metrics["train/accuracy"] == 0.25
