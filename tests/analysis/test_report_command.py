"""``tomrl report``: of the cells that are there, and with what differs from run to run."""

from __future__ import annotations

import base64
import gzip
import json
import shutil
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from benchmarks.made_study import write_results
from flows.driver.progress import CellState
from flows.driver.results import leave_partial_report
from flows.sweeps.record import Sweep, SweepFolder
from pipeline.analysis.collect import collect
from pipeline.analysis.figures import FIGURES
from pipeline.base.errors import UserError
from pipeline.cli.app import app
from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.params_file import params_text, read_params
from pipeline.config.study_files import find_study
from pipeline.stages.common import Stage
from pipeline.stages.followed import Ended, circumstances
from pipeline.stages.prompts import write_frames
from pipeline.stages.report import write
from tests.conftest import PROJECT, TINY

CAUSE = "evaluate: no room <here>; make some"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of every cell of a study that nobody ran."""
    root = tmp_path_factory.mktemp("made")
    params = expand(find_study(TINY, "mini"))
    (root / "dvc.yaml").touch()
    (root / "params.yaml").write_text(params_text(find_study(TINY, "mini")))
    write_results(params, root)
    write_frames(root / "data" / "mini" / "raw", root / "data" / "mini" / "sources")
    return root


@pytest.fixture
def study(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy in which one cell failed."""
    root = tmp_path / "study"
    shutil.copytree(made, root)
    shutil.rmtree(root / "runs/mini/micro-hi/evaluate")
    cause = CAUSE.partition(": ")[2]
    Ended("FAILED", 0.0, 1.0, {}, cause).leave(root / "logs/mini/micro-hi/evaluate")
    monkeypatch.chdir(root)
    monkeypatch.setenv("COLUMNS", "200")
    return root


def params_of(root: Path) -> Params:
    return read_params(root / "params.yaml")


def report(*options: str) -> Result:
    return CliRunner().invoke(app, ["report", *options])


def test_a_failed_cell_is_told_as_failed_and_the_rest_is_complete(study: Path) -> None:
    shutil.rmtree(study / "runs/mini/micro-base/judge")
    shown = report("--partial")
    assert shown.exit_code == 0, shown.output
    folder = study / "logs/mini/partial"
    assert str(folder / "index.html") in shown.output
    assert "partial: 2 of 4 cells have no results" in shown.output
    found = json.loads((folder / "results.json").read_text())
    assert found["missing"] == {"micro-base": "not run", "micro-hi": f"failed: {CAUSE}"}
    accuracies = {row["cell"]: row["trained"] for row in found["rows"]}
    assert accuracies["nano-hi"] is not None and accuracies["micro-hi"] is None
    assert {each["cell"] for each in found["verdicts"]} == {"nano-base", "nano-hi"}
    page, text = ((folder / name).read_text() for name in ("index.html", "report.md"))
    escaped = CAUSE.replace("<", "&lt;").replace(">", "&gt;")
    first_screen, _, rest = page.partition('id="results"')
    assert "This report is partial" in first_screen and "2 of 4 cells" in first_screen
    assert first_screen.count(f">failed: {escaped}<") == 1  # in the table of verdicts
    packed = page.partition('id="tables">')[2].partition("<")[0]
    reasons, *_ = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert [line for line in reasons if line[0] == "micro-hi" and line[3] == f"failed: {CAUSE}"]
    assert f"<li>micro-hi: failed: {escaped}</li>" in first_screen
    assert "<td>micro-hi</td><td>hi</td><td>hi_tom_order_3</td>" in rest.replace("\n", "")
    assert ">failed</td>" in rest and ">not run</td>" in rest
    assert "## This report is partial" in text
    assert "Against the published results" not in text  # the study re-runs no paper
    assert "\n- hi: split by-story; train: 900 rows, stories: " in text
    assert "\n- seed of the study: 0\n" in text
    assert text.count(f"failed: {CAUSE.replace('<', '&lt;')}") == 3
    lines = [line.split() for line in shown.output.splitlines()]
    assert [line for line in lines if line[:3] == ["micro-hi", "-", "failed:"]]
    assert [line for line in lines if {"hi_tom_order_3", "not", "run", "failed"} <= {*line}]
    assert not (study / "reports").exists()


def test_a_report_that_is_not_whole_says_how_to_see_the_rest(study: Path) -> None:
    said = report().exception
    assert isinstance(said, UserError)
    assert "evaluate@micro-hi" in str(said)
    assert str(said).endswith(
        "1 of 4 cells have no results; see those of the others with: tomrl report --partial"
    )


def test_a_copy_of_the_page_says_what_differs_from_run_to_run(made: Path, study: Path) -> None:
    shutil.copytree(made / "runs/mini/micro-hi", study / "runs/mini/micro-hi", dirs_exist_ok=True)
    params = params_of(study)
    tags = circumstances(PROJECT)
    commit = tags["mlflow.source.git.commit"][:12]
    page = study / "reports/mini/index.html"
    write(Stage("report", study, params), collect(params, study), page.parent)
    bytes_before = page.read_bytes()
    for began, stage in enumerate(("train", "evaluate")):
        Ended("FINISHED", 86400.0 + began, 3723.0, tags).leave(study / f"logs/mini/nano-hi/{stage}")
    shown = report()
    copy = study / "logs/mini/report.html"
    assert shown.exit_code == 0 and str(copy) in shown.output and str(page) in shown.output
    text = copy.read_text()
    assert page.read_bytes() == bytes_before and commit.encode() not in bytes_before
    for fact in (commit, tags["hardware.processor"], f"torch {tags['version.torch']}", "2:04:06"):
        assert f"{fact}" in text
    assert '<th scope="row">nano-hi</th><td class="number">1:02:03</td>' in text
    assert "1970-01-02 00:00 UTC to 1970-01-02 01:02 UTC" in text
    Ended("FINISHED", 0.0, 1.0, {"hardware.processor": "<i>"}).leave(copy.parent / "nano-hi/judge")
    report()
    assert "&lt;i&gt;" in copy.read_text() and "<i>," not in copy.read_text()


def test_the_matrix_of_models_says_which_cells_failed(study: Path) -> None:
    params = params_of(study)
    draw, _ = FIGURES["models-and-combinations"]
    for failures, word in (({"micro-hi": CAUSE}, "failed"), ({}, "not run")):
        figure = draw(collect(params, study, failures))
        assert figure is not None
        for axis in figure.axes:
            number, said = (text.get_text() for text in axis.texts)
            assert number[0] in "+-" and said == word
    with pytest.raises(UserError, match="evaluate@micro-hi"):
        collect(params, study)


def test_a_sweep_leaves_what_is_there_with_its_causes(study: Path) -> None:
    params, folder = params_of(study), SweepFolder(study, "mini")
    folder.write(Sweep(name="mini", study="mini", commit="0" * 40, edited=[], began="2000"))
    folder.params_file.write_text((study / "params.yaml").read_text())
    folder.tree.mkdir(parents=True)
    for name in ("data", "runs"):
        shutil.move(study / name, folder.tree / name)
    folder.note("micro-hi", CellState(state="failed", stage="train", cause="killed by SIGKILL"))
    leave_partial_report(folder)
    read = json.loads((study / "logs/mini/partial/results.json").read_text())
    assert read["missing"] == {"micro-hi": "failed: train: killed by SIGKILL"}
    shown = report("--partial")
    assert f"partial: 1 of {len(params.cells)} cells" in shown.output
