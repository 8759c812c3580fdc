"""Both models asked with both prompts, from the study file to the report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pipeline.analysis.results import collect
from pipeline.analysis.square import square_findings, square_texts, squares
from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.params_file import dump_params
from pipeline.config.study_files import find_study
from pipeline.model.manifest import Manifest
from pipeline.stages import (
    audit,
    base,
    evaluate,
    gsm8k,
    judge,
    report,
    suite,
    train,
)
from pipeline.stages.common import Stage
from tests.conftest import PROJECT, edited, shrink
from tests.stages.made import make_data


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Params]:
    """A study that was run, up to its report."""
    root = tmp_path_factory.mktemp("a checkout")
    shrink(root)
    shutil.copytree(PROJECT / "studies" / "records", root / "studies" / "records")
    with edited(root / "studies" / "mini.yaml") as study:
        study["evaluate"] |= {"base_prompt": "labelled", "crossed": True}
        study["base"]["models"]["nano"]["warm_start"]["steps"] = 60
    params = expand(find_study(root, "mini"))
    (root / "params.yaml").write_text(dump_params(params))
    make_data(root, params)
    suite.main(Stage("suite", root, params))
    audit.main(Stage("audit", root, params))
    base.main(Stage("base", root, params), "nano")
    for key in params.cells:
        train.main(Stage("train", root, params), key)
        evaluate.main(Stage("evaluate", root, params), key)
        judge.main(Stage("judge", root, params), key)
        gsm8k.main(Stage("gsm8k", root, params), key)
    report.main(Stage("report", root, params))
    return root, params


def test_the_model_of_another_cell_is_passed_on(done: tuple[Path, Params]) -> None:
    runs = done[0] / "runs" / "mini"
    for key in ("nano-base", "nano-hi"):
        found = [
            Manifest.read_of(runs / name / "train" / "checkpoints.json", "nano", "train")
            for name in (key, f"{key}-crossed")
        ]
        assert found[0] == found[1]
        assert not (runs / f"{key}-crossed" / "train" / "metrics.jsonl").read_text()


def test_every_corner_is_what_its_cell_scored(done: tuple[Path, Params]) -> None:
    root, params = done
    results = collect(params, root)
    found = squares(results)
    assert [(square.cell, square.task) for square in found] == [
        ("nano-hi", "hi_tom_orders_0_2"),
        ("nano-hi", "hi_tom_order_3"),
    ]
    for square in found:
        of = {key: result.tasks[square.task].accuracy for key, result in results.cells.items()}
        assert (square.base, square.base_crossed) == (of["nano-base"], of["nano-base-crossed"])
        assert (square.trained_crossed, square.trained) == (of["nano-hi-crossed"], of["nano-hi"])
        assert sum(square.by_training) + sum(square.by_prompt) == pytest.approx(
            2 * (square.trained - square.base)
        )
        assert square_texts(square)[2] == f"{100 * square.base:.1f}"
    (sentence,) = square_findings(results)
    whole = sum(square.trained - square.base for square in found) / len(found)
    assert f"accuracy changes by {100 * whole:+.1f} (" in sentence
    assert "with prompt labelled to the trained one with compact" in sentence


def test_the_report_shows_the_square(done: tuple[Path, Params]) -> None:
    folder = done[0] / "reports" / "mini"
    assert "Prompt or training" in (folder / "index.html").read_text(encoding="utf-8")
    written = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert len(written["squares"]) == 2
    assert {row["cell"] for row in written["rows"]} == {"nano-hi", "nano-hi-crossed"}
