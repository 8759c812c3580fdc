"""Prompt programs beside training, from the study file to the report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from pipeline.analysis.collect import collect
from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.params_file import params_text
from pipeline.config.study_files import find_study
from pipeline.stages import suite
from pipeline.stages.common import Stage
from tests.conftest import PROJECT, edited, shrink
from tests.stages.made import make_data, run_everything

PROGRAMS = {
    "shots": {"kind": "few-shot", "shots": 2},
    "vote": {"kind": "vote", "of": 3},
    "verified": {"kind": "best", "of": 3},
    "learned": {"kind": "best", "of": 3, "verifier": "learned"},
    "sim-tom": {"kind": "sim-tom"},
    "recursion": {"kind": "recursion"},
}
SHOWN = {"task": "hi_tom_style_train", "orders": [1, 2], "limit": 8}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "a checkout"
    shrink(root)
    shutil.copytree(PROJECT / "studies" / "records", root / "studies" / "records")
    with edited(root / "studies" / "mini.yaml") as study:
        study["evaluate"] |= {"programs": PROGRAMS, "base_prompt": "labelled", "crossed": True}
        study["suite"]["demonstrations"] = SHOWN
    return root


def test_programs_are_cells_beside_training(root: Path) -> None:
    params = expand(find_study(root, "mini"))
    (root / "params.yaml").write_text(params_text(find_study(root, "mini")))
    run_everything(root, params)

    read, written = (
        {key: tokens_of(root, params, key, of) for key in params.cells}
        for of in ("prompt_tokens", "completion_tokens")
    )
    assert written["nano-base-vote"] > 2 * written["nano-base"]
    assert read["nano-base-vote"] == read["nano-base"] > 0, "its samples share what is read"
    found = json.loads((root / "reports" / "mini" / "results.json").read_text())["test_time"]
    assert [line["way"] for line in found] == ["base, asked plainly", "hi", *PROGRAMS]
    assert [line["trained"] for line in found] == [False, True, *[False] * len(PROGRAMS)]
    results = collect(params, root)
    for line in found[2:]:
        tasks = results.cells[f"nano-base-{line['way']}"].tasks.values()
        assert line["accuracy"] == pytest.approx(sum(t.accuracy for t in tasks) / len(tasks))
        assert line["read"] == pytest.approx(read[f"nano-base-{line['way']}"])
        assert line["written"] == pytest.approx(written[f"nano-base-{line['way']}"])
    page = (root / "reports" / "mini" / "index.html").read_text()
    assert 'id="test-time"' in page and "right answers per 1,000 tokens" in page
    assert (root / "reports" / "mini" / "figures" / "accuracy-against-tokens.svg").is_file()
    assert len(json.loads((root / "reports" / "mini" / "results.json").read_text())["squares"]) == 2


def tokens_of(root: Path, params: Params, key: str, of: str) -> float:
    found = pd.read_parquet(root / "runs" / "mini" / key / "evaluate" / "responses.parquet")
    return float(found[found["task"].isin(params.suite.tasks)][of].mean())


def test_a_program_that_shows_answers_names_whose(root: Path) -> None:
    with edited(root / "studies" / "mini.yaml") as study:
        del study["suite"]["demonstrations"]
    with pytest.raises(UserError, match="name them as suite.demonstrations") as refused:
        find_study(root, "mini")
    assert "evaluate.programs.shots" in str(refused.value)
    assert "evaluate.programs.learned" in str(refused.value)
    assert "evaluate.programs.vote" not in str(refused.value)


def test_no_story_of_the_suite_is_shown_with_its_answer(root: Path) -> None:
    with edited(root / "studies" / "mini.yaml") as study:
        study["suite"]["demonstrations"] = {"task": "hi_tom_style", "limit": 4}
    params = expand(find_study(root, "mini"))
    make_data(root, params)
    with pytest.raises(UserError, match="are about stories of the suite, whose answers they"):
        suite.main(Stage("suite", root, params))
