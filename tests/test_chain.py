"""The whole chain through the two doors users use: ``dvc repro`` and ``tomrl run``."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.base.errors import UserError
from pipeline.formats.files import folder_digests
from tests.chaos.study import leftovers, results
from tests.conftest import edited, ended_well, environment, expand, prepare, type_command
from tests.said import told, tomrl

pytestmark = pytest.mark.chain
DETERMINISTIC = ("data", "runs")


def contents(checkout: Path) -> dict[str, bytes]:
    """Every deterministic result by path."""
    return results(checkout, DETERMINISTIC)


@pytest.fixture(scope="module")
def checkout(reproduced: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout on which ``dvc repro`` has run."""
    target = tmp_path_factory.mktemp("one") / "a folder with spaces"
    return Path(shutil.copytree(reproduced, target, symlinks=True))


@pytest.fixture(scope="module")
def flown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Another checkout on which ``tomrl run`` has run, with no server set up beforehand."""
    checkout = prepare(tmp_path_factory.mktemp("two") / "clone")
    done = ended_well(checkout, "tomrl", "run", "mini")
    return checkout, done.stdout + done.stderr


def test_a_second_repro_runs_nothing(checkout: Path) -> None:
    again = ended_well(checkout, "dvc", "repro")
    assert "Data and pipelines are up to date." in again.stdout
    assert "Running stage" not in again.stdout


def test_both_doors_give_the_same_bytes(checkout: Path, flown: tuple[Path, str]) -> None:
    one, two = contents(checkout), contents(flown[0])
    assert one.keys() == two.keys()
    assert [name for name in one if one[name] != two[name]] == []
    assert {"runs/mini/nano-hi/train/metrics.jsonl", "runs/mini/audit/audit.json"} <= one.keys()


def test_logs_hold_no_bars_and_no_migrations(flown: tuple[Path, str]) -> None:
    _, shown = flown
    assert [noise for noise in ("%|", "\r", "alembic", "mlflow.store") if noise in shown] == []


@pytest.fixture(scope="module")
def reported(checkout: Path) -> str:
    """What ``tomrl report`` prints on a narrow screen."""
    return ended_well(checkout, "tomrl", "report", COLUMNS="80").stdout


def test_a_cell_is_judged_by_its_name(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout)
    found = told("judge", "mini/nano-hi")
    stored = json.loads((checkout / "runs/mini/nano-hi/judge/verdicts.json").read_text())["tasks"]
    assert found.keys() == stored.keys()
    for task, verdict in stored.items():
        assert {key: found[task][key] for key in ("answers", "by", "explained", "found")} == {
            key: verdict[key] for key in ("answers", "by", "explained", "found")
        }
    with pytest.raises(UserError, match="there are of mini: nano-base, nano-hi"):
        tomrl("judge", "mini/nano-ho")


def test_the_report_says_what_was_measured(checkout: Path, reported: str) -> None:
    assert "…" not in reported
    metrics = json.loads((checkout / "runs/mini/nano-hi/evaluate/metrics.json").read_text())
    for heading in ("base", "after RL", "change", "rule"):
        assert heading in reported
    rows = json.loads((checkout / "reports/mini/results.json").read_text())["rows"]
    for row in rows:
        if row["task"] in metrics["tasks"]:
            assert row["trained"] == metrics["tasks"][row["task"]]["accuracy"]
    page = checkout / "reports/mini/index.html"
    assert "".join(str(page).split()) in "".join(reported.split())
    assert "tomrl ui" in reported
    text = page.read_text()
    assert all(f"<figcaption>{title}" in text for title in ("Accuracy by", "Against rules"))


def test_every_cell_and_task_has_a_verdict(checkout: Path, reported: str) -> None:
    assert "Verdicts" in reported and "answers follow" in reported
    report = json.loads((checkout / "reports/mini/results.json").read_text())
    cells = {(each["cell"], each["task"]) for each in report["verdicts"]}
    assert cells == {(cell, "hi_tom_style") for cell in ("nano-base", "nano-hi")}
    for cell in ("nano-base", "nano-hi"):
        own = json.loads((checkout / f"runs/mini/{cell}/judge/verdicts.json").read_text())
        (verdict,) = own["tasks"].values()
        assert verdict["evidence"]["answers"]["rules"]
    page = (checkout / "reports/mini/index.html").read_text()
    assert page.index(">Verdicts</h2>") < page.index(">Results</h2>")
    with sqlite3.connect(checkout / "mlflow.db") as database:
        tags = {key for (key,) in database.execute("select distinct key from tags")}
    assert {"answers.hi_tom_style", "reasoning.hi_tom_style"} <= tags


def test_two_cells_are_compared_question_by_question(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = ("nano-base", "mini/nano-hi")
    shown = ended_well(checkout, "tomrl", "compare", *cells, COLUMNS="100")
    assert "A: mini/nano-base, B: mini/nano-hi" in shown.stdout
    monkeypatch.chdir(checkout)
    (pair,) = told("compare", *cells)
    rows = json.loads((checkout / "reports/mini/results.json").read_text())["rows"]
    change = {row["task"]: row["change"] for row in rows if row["cell"] == "nano-hi"}
    for column in pair["columns"]:
        turned = len(column["gained"]) - len(column["lost"])
        assert round(turned / column["change"]["count"], 4) == column["change"]["value"]
        assert column["change"]["value"] == round(change[column["column"]], 4)
    same = told("compare", "mini", "mini")
    assert [each["first"] for each in same] == ["mini/nano-base", "mini/nano-hi"]
    with pytest.raises(UserError, match="there are of mini: nano-base, nano-hi") as wrong:
        tomrl("compare", "nano-base", "nano-no")
    meant = "no evaluated cell mini/nano-no (did you mean 'nano-hi'?), and no folder"
    assert meant in str(wrong.value)


def test_mlflow_has_one_run_for_each_cell(checkout: Path) -> None:
    with sqlite3.connect(checkout / "mlflow.db") as database:
        names = [name for (name,) in database.execute("select name from runs order by name")]
        metrics = {key for (key,) in database.execute("select distinct key from metrics")}
        points = database.execute(
            "select count(*), count(distinct step) from metrics where key = 'train/reward_mean'"
        ).fetchone()
        statuses = {status for (status,) in database.execute("select status from runs")}
        inputs = database.execute("select count(*) from datasets").fetchone()
    assert names == ["nano-base", "nano-hi", "study mini"]
    assert {"train/length_mean", "evaluate/hi_tom_order_3/accuracy"} <= metrics
    assert points == (4, 4), "every step once, although it was sent live and replayed"
    assert statuses == {"FINISHED"}
    assert inputs[0] >= 1
    assert list((checkout / "mlartifacts").rglob("index.html"))


def test_a_run_with_nothing_to_do_says_so(flown: tuple[Path, str]) -> None:
    """Also after DVC was killed while it wrote whom files are locked by."""
    checkout, first = flown
    assert "Running stage" in first
    (checkout / ".dvc" / "tmp" / "rwlock").write_text('{"write": {"a')
    again = ended_well(checkout, "tomrl", "run")
    assert "up to date: nothing to run" in again.stdout + again.stderr


def test_editing_one_cell_reruns_one_cell(flown: tuple[Path, str]) -> None:
    checkout, _ = flown
    params = (checkout / "params.yaml").read_text()
    try:
        with edited(checkout / "params.yaml") as content:
            content["cells"]["nano-hi"]["train"] = {"learning_rate": 0.0002}
        ended_well(checkout, "dvc", "repro", "expand")
        status = type_command(checkout, checkout.parent, "dvc", "status", "--json")
        assert set(json.loads(status.stdout)) == {"train@nano-hi", "report"}
    finally:
        (checkout / "params.yaml").write_text(params)
        type_command(checkout, checkout.parent, "dvc", "repro", "expand")


def test_a_missing_checkpoint_names_the_repair(flown: tuple[Path, str]) -> None:
    checkout, _ = flown
    weights = checkout / "weights/mini/nano-hi"
    ask = ("python", "-m", "pipeline.stages.evaluate", "nano-hi")
    before = folder_digests(weights)
    shutil.rmtree(weights)
    done = type_command(checkout, checkout.parent, *ask)
    assert done.returncode == 2
    assert f"is not in {weights}. Restore it: dvc checkout train@nano-hi" in done.stderr
    ended_well(checkout, "dvc", "checkout", "train@nano-hi")
    assert folder_digests(weights) == before


def test_an_altered_checkpoint_is_made_again(flown: tuple[Path, str]) -> None:
    """DVC's cache has the same file, and must not give the altered one back."""
    checkout, _ = flown
    weights = checkout / "weights/mini/nano-hi"
    before = folder_digests(weights)
    for path in weights.glob("*/model.safetensors"):
        path.chmod(0o644)
        with path.open("r+b") as file:
            file.write(b"altered")
        path.chmod(0o444)
    ask = ("python", "-m", "pipeline.stages.evaluate", "nano-hi")
    done = type_command(checkout, checkout.parent, *ask)
    assert done.returncode == 2
    again = "dvc repro --single-item --force train@nano-hi"
    assert "is altered" in done.stderr and f"make it again: {again}" in done.stderr
    ended_well(checkout, *again.split())
    assert folder_digests(weights) == before


@pytest.mark.nightly
def test_sigterm_inside_a_long_step_saves_and_ends_within_10_seconds(
    checkout: Path,
) -> None:
    before, params = contents(checkout), (checkout / "params.yaml").read_text()
    with edited(checkout / "params.yaml") as content:
        content["cells"]["nano-hi"]["train"] = {
            "steps": 50,
            "prompts_per_step": 30,
            "rollouts": 16,
            "max_new_tokens": 64,
            "updates_per_batch": 2,
            "validate_every": 50,
            "save_every": 50,
        }
    expand(checkout)
    states = set((checkout / "work").glob("*/state/step-*"))
    command = [sys.executable, "-m", "pipeline.stages.train", "nano-hi"]
    process = subprocess.Popen(
        command,
        cwd=checkout,
        env={**environment(checkout.parent), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        said = ""
        while not re.search(r": [1-9]\d*/50 ", said):  # a step was done, the next is under way
            line = process.stdout.readline()
            assert line, said
            said += line
        process.send_signal(signal.SIGTERM)
        said += process.communicate(timeout=10)[0]
        assert process.returncode == 130, said
        assert "run it again to go on" in said
        saved = set((checkout / "work").glob("*/state/step-*")) - states
        assert len(saved) == 1 and "step-000050" not in str(saved)
        shutil.rmtree(saved.pop().parents[1])
    finally:
        process.kill()
        (checkout / "params.yaml").write_text(params)
        expand(checkout)
    assert leftovers(checkout) == [] and contents(checkout) == before
