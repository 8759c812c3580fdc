"""What DVC users look for: metrics, plots, artifacts, and the two ways to run an experiment."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import ended_well

pytestmark = pytest.mark.chain
LENGTH = "cells.nano-hi.evaluate.max_new_tokens"


@pytest.fixture(scope="module")
def clone(reproduced: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a checkout on which everything was run, committed."""
    target = tmp_path_factory.mktemp("experiments") / "a clone"
    shutil.copytree(reproduced, target, symlinks=True)
    for command in (
        ("git", "config", "user.name", "a"),
        ("git", "config", "user.email", "a@b.c"),
        ("git", "add", "-A"),
        ("git", "commit", "-qm", "all"),
    ):
        dvc(target, *command)
    return target


def dvc(clone: Path, *command: str) -> str:
    return ended_well(clone, *command).stdout


def experiments(clone: Path) -> dict[str, dict[str, object]]:
    """The parameters of every experiment on the last commit, by its name."""
    (_, *commits) = json.loads(dvc(clone, "dvc", "exp", "show", "--json"))
    found = {}
    for experiment in commits[0]["experiments"] or []:
        (run,) = experiment["revs"][-1:]
        cells = run["data"]["params"]["params.yaml"]["data"]["cells"]
        found[str(experiment["name"])] = cells["nano-hi"]["evaluate"]
    return found


def test_metrics_are_few_and_named_by_cell_and_task(clone: Path) -> None:
    shown = json.loads(dvc(clone, "dvc", "metrics", "show", "--json"))
    (file,) = shown[""]["data"].values()
    scores = json.loads((clone / "runs/mini/nano-hi/evaluate/metrics.json").read_text())["tasks"]
    for task, found in scores.items():
        assert file["data"]["nano-hi"][task] == pytest.approx(100 * found["accuracy"], abs=0.05)
    assert set(file["data"]) == {"nano-base", "nano-hi"}
    dvc(clone, "dvc", "metrics", "diff", "HEAD")


def test_plots_are_drawn_for_every_trained_cell(clone: Path) -> None:
    page = dvc(clone, "dvc", "plots", "show", "--out", "plots").strip()
    assert "nano-hi" in Path(page.removeprefix("file://").replace("%20", " ")).read_text()
    dvc(clone, "dvc", "plots", "diff", "HEAD", "--out", "plots")
    # Vega draws nothing of a table whose rows have unequal keys.
    rows = json.loads((clone / "results/mini/curves.json").read_text())
    assert len(rows) > 1 and {tuple(row) for row in rows} == {tuple(rows[0])}
    assert {row["cell"] for row in rows} == {"nano-hi"}


def test_git_keeps_what_was_found(clone: Path) -> None:
    kept = dvc(clone, "git", "ls-files", "--others", "--cached", "--exclude-standard", "results")
    names = ("checkpoints.json", "curves.json", "metrics.json", "report.md", "verdicts.json")
    assert kept.split() == [f"results/mini/{name}" for name in names]
    report = json.loads((clone / "reports/mini/results.json").read_text())
    found = json.loads((clone / "results/mini/verdicts.json").read_text())
    assert found == report["verdicts"] and found


def test_artifacts_are_had_by_name_once_a_version_is_tagged(clone: Path) -> None:
    dvc(clone, "git", "tag", "-a", "results@v1.0.0", "-m", "as run")
    dvc(clone, "dvc", "artifacts", "get", ".", "results", "-o", "taken.json")
    report = clone / "reports" / "mini" / "results.json"
    assert (clone / "taken.json").read_bytes() == report.read_bytes()


@pytest.mark.nightly
def test_a_change_in_the_workspace_reruns_its_stage_only(clone: Path) -> None:
    said = dvc(clone, "dvc", "exp", "run", "-n", "here", "-S", f"++{LENGTH}=7")
    assert "Running stage 'evaluate@nano-hi'" in said and "Running stage 'train" not in said
    assert experiments(clone)["here"]["max_new_tokens"] == 7
    diff = json.loads(dvc(clone, "dvc", "params", "diff", "--json"))
    assert set(diff["params.yaml"]) == {LENGTH} and diff["params.yaml"][LENGTH]["new"] == 7
    dvc(clone, "git", "checkout", "-q", ".")
    dvc(clone, "dvc", "checkout")


@pytest.mark.nightly
def test_experiments_in_copies_share_runs(clone: Path) -> None:
    said = dvc(clone, "dvc", "exp", "run", "--temp", "-n", "apart", "-S", f"++{LENGTH}=6")
    assert "Running stage 'evaluate@nano-hi'" in said
    assert experiments(clone)["apart"]["max_new_tokens"] == 6
    assert_shared(clone)


def assert_shared(clone: Path) -> None:
    """What experiments in copies of the checkout told is in the checkout's own runs of MLflow."""
    assert not list((clone / ".dvc/tmp/exps").rglob("mlflow.db"))
