"""The stage ``evaluate`` tries whether reasoning is used, and the stage ``judge`` says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.study_files import find_study
from pipeline.evaluate.tried import Tried
from pipeline.formats.files import folder_digests
from pipeline.judge.records import TaskVerdict, Verdicts
from pipeline.stages import evaluate, judge, suite
from pipeline.stages.common import Stage
from tests.conftest import edited, shrink
from tests.evaluate.simulated import Decide, Simulated, by_story, by_trace
from tests.stages.made import make_data

KEY = "nano-base"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout up to the suite, with questions to try."""
    root = tmp_path_factory.mktemp("a checkout")
    shrink(root)
    with edited(root / "studies" / "mini.yaml") as study:
        study["acquire"]["hi_tom_style"]["test"] = 60
        study["evaluate"]["tried"] = 50
    stage = Stage("suite", root, expand(find_study(root, "mini")))
    make_data(root, stage.params)
    suite.main(stage)
    return root


def judged(root: Path, decide: Decide, monkeypatch: pytest.MonkeyPatch) -> TaskVerdict:
    """The verdict on a simulated model, which is asked in place of the cell's own."""
    stage = Stage("evaluate", root, expand(find_study(root, "mini")))
    model = Simulated(
        [e for each in evaluate.asked(stage, stage.params.cell(KEY)) for e in each.examples], decide
    )
    monkeypatch.setattr(evaluate, "engine_of", lambda *_: model)
    evaluate.main(stage, KEY)
    judge.main(replace(stage, name="judge"), KEY)
    verdicts = Verdicts.read(stage.runs / KEY / "judge" / "verdicts.json", "judge")
    return verdicts.tasks["hi_tom_style"]


def test_a_model_that_uses_its_reasoning_is_faithful(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = judged(root, by_trace, monkeypatch)
    assert found.reasoning == "faithful", found.reasoning_because
    shown = found.evidence["reasoning"]
    assert shown["used"]["value"] == shown["true"]["value"] == shown["consistent"]["value"] == 1
    folder = root / "runs" / "mini" / KEY / "evaluate"
    before = folder_digests(folder)
    assert judged(root, by_trace, monkeypatch) == found
    assert folder_digests(folder) == before
    attempts = Tried.read(folder / "tried.json", "evaluate").attempts
    assert len({each.id for each in attempts}) <= 50 < len(attempts)


def test_a_model_that_answers_past_its_reasoning_is_not(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything that it says is true."""
    found = judged(root, by_story, monkeypatch)
    assert found.reasoning == "unfaithful"
    assert found.evidence["reasoning"]["used"]["value"] == 0
    assert found.reasoning_because.endswith("of the edits of the reasoning are followed")


def test_a_study_that_does_not_ask_for_it_says_so(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = root / "studies" / "mini.yaml"
    kept = path.read_text()
    with edited(path) as study:
        del study["evaluate"]["tried"]
    found = judged(root, by_story, monkeypatch)
    path.write_text(kept)
    assert found.reasoning == "plausible"
    assert found.evidence["reasoning"]["untried"] == "the study does not ask for it"


def test_without_the_file_there_is_no_verdict(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged(root, by_story, monkeypatch)
    (root / "runs" / "mini" / KEY / "evaluate" / "tried.json").unlink()
    stage = Stage("judge", root, expand(find_study(root, "mini")))
    with pytest.raises(UserError, match=r"tried\.json does not exist.*evaluate@nano-base"):
        judge.main(stage, KEY)
