"""A study beside its paper: every record is true of its study, and says so when it is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from pipeline.analysis.against_paper import (
    against_paper,
    checked,
    compare,
    in_words,
    no_record,
)
from pipeline.analysis.report import write_report
from pipeline.analysis.samples import Recorded
from pipeline.analysis.settings import AbsentSetting, settings, value_at
from pipeline.base.errors import UserError
from pipeline.cli.app import app
from pipeline.config.expand import expand
from pipeline.config.params import Params
from pipeline.config.published import FOLDER, PaperRecord, find_record, record_names
from pipeline.config.study_files import find_study, study_files
from pipeline.config.training import Train
from tests.analysis.test_seeds import seeded
from tests.conftest import PROJECT, Run, edited

RECORDS = record_names(PROJECT)
# Where and how fast a cell trains, but not what is computed; and the other way to say a length.
NOT_OF_THE_RECIPE = {
    *("backend", "cluster", "device", "groups_per_micro_batch", "tokens_per_micro_batch"),
    *("gradient_checkpointing", "steps", "reward"),
    # Left out where a study does not ask for them.
    *("lora", "allow_no_answers", "learning_rate_schedule", "stop_on"),
}


def params_of(name: str) -> Params:
    return expand(find_study(PROJECT, name))


def record_of(**statement: Any) -> PaperRecord:
    """A record with one statement."""
    given = {"what": "rollouts", "source": "the paper"} | statement
    content = {"paper": "p", "title": "t", "statements": {"training": [given]}}
    return PaperRecord.model_validate(content)


@pytest.mark.parametrize("name", RECORDS)
def test_every_record_is_true_of_its_study(name: str) -> None:
    found = against_paper(params_of(name), PROJECT)
    assert found is not None and found.paper in (find_study(PROJECT, name).paper or "")
    assert checked(found).compared and not found.mistakes
    for each in (*found.of("differs"), *found.of("open")):
        assert each.reason and each.source


@pytest.mark.parametrize("name", RECORDS)
def test_the_docs_count_as_the_command_does(name: str) -> None:
    found = against_paper(params_of(name), PROJECT)
    assert found is not None
    text = (PROJECT / "docs" / "studies.md").read_text(encoding="utf-8")
    _, _, text = text.partition("## Beside the paper")
    (line,) = (line for line in text.splitlines() if line.startswith(f"| `{name}` "))
    counts = [len(found.of(status)) for status in ("same", "differs", "open")]
    assert line.strip("| ").split(" | ")[2:] == [str(n) for n in (sum(counts), *counts)]


def test_the_studies_that_re_run_a_paper_have_a_record() -> None:
    assert set(RECORDS) == {"tom-rl", "rlvr", "order-ablation"} <= set(study_files(PROJECT))


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_speaks_of_every_topic_and_every_training_setting(name: str) -> None:
    record = find_record(PROJECT, name)
    assert record is not None
    topics = {"data", "prompts", "sampling", "columns", "reward", "training", "evaluation"}
    assert {topic for topic, stated in record.statements.items() if stated} == topics
    places = {each.where for topic in record.statements.values() for each in topic}
    assert {f"train.{name}" for name in {*Train.model_fields} - NOT_OF_THE_RECIPE} <= places


def test_study_1_trains_as_its_paper_says() -> None:
    found = against_paper(params_of("tom-rl"), PROJECT)
    assert found is not None
    unlike = {each.what for each in found.of("differs") if each.topic == "training"}
    assert unlike == {"software", "micro-batches and offloading"}


@pytest.mark.parametrize(
    ("statement", "mistake"),
    [
        ({"stated": 16}, None),
        ({"stated": 8, "here": 16, "reason": "More of them."}, None),
        ({"stated": "open", "here": 16, "reason": "Enough."}, None),
        ({"stated": 8}, "stated 8, the study has 16, and no reason is given"),
        ({"stated": 8, "here": 4, "reason": "Fewer."}, "speaks of 4, the study has 16"),
        ({"stated": 8, "reason": "More of them."}, "give here: 16"),
        ({"stated": 16, "here": 4, "reason": "Fewer."}, "has what is stated; remove"),
        ({"stated": 8, "where": "train.rollout"}, "no such setting"),
        ({"stated": 8, "where": "train.rollouts.0"}, "no such setting"),
    ],
)
def test_what_a_record_says_must_be_so(statement: dict[str, Any], mistake: str | None) -> None:
    found = compare(params_of("tom-rl"), record_of(**{"where": "train.rollouts"} | statement))
    if mistake is None:
        assert checked(found).mistakes == []
        return
    with pytest.raises(UserError, match=r"studies/records/tom-rl.yaml has 1 mistake") as error:
        checked(found)
    assert mistake in str(error.value) and "rollouts (train.rollout" in str(error.value)


def test_what_no_setting_holds() -> None:
    params = params_of("tom-rl")
    assert [e.what for e in compare(params, record_of(stated=1, here=1)).of("same")] == ["rollouts"]
    found = compare(params, record_of(stated=1, here=2, reason="So."))
    assert [each.here for each in found.of("differs")] == [2]


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """Write a record, beside that of Study 2, into a folder."""

    def write(**content: object) -> Path:
        (tmp_path / FOLDER).mkdir(parents=True)
        other = PROJECT / FOLDER / "rlvr.yaml"
        (tmp_path / FOLDER / "rlvr.yaml").write_bytes(other.read_bytes())
        text = yaml.safe_dump({"paper": "p", "title": "t", "statements": {}} | content)
        (tmp_path / FOLDER / "mine.yaml").write_text(text)
        return tmp_path

    return write


OPEN = {"what": "x", "stated": "open", "source": "the paper"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"like": "mine"}, "like: found 'mine'; allowed: rlvr"),
        ({"like": "rlvr", "without": ["x"]}, "rlvr does not speak of 'x'"),
        ({"without": ["x"]}, "name that as like"),
        ({"statements": {"data": [OPEN]}}, "no setting holds it, so say here"),
        ({"statements": {"data": [OPEN | {"where": "seed"}]}}, "give the choice as here"),
        ({"statements": {"data": 2 * [OPEN | {"here": 1, "reason": "r"}]}}, "'x' appears twice"),
        ({"statements": {"date": []}}, "statements.date: "),
        ({"title": 5}, "title: found 5; allowed: text"),
    ],
)
def test_records_that_are_refused(
    folder: Callable[..., Path], content: dict[str, object], said: str
) -> None:
    with pytest.raises(UserError, match="mine.yaml") as error:
        find_record(folder(**content), "mine")
    assert said in str(error.value)


def test_a_record_like_another_takes_its_statements(folder: Callable[..., Path]) -> None:
    own = {"what": "reward", "stated": 1, "source": "s", "where": "train.reward"}
    root = folder(like="rlvr", without=["models"], statements={"reward": [own]})
    mine, other = find_record(root, "mine"), find_record(root, "rlvr")
    assert mine is not None and other is not None
    assert len(mine.statements["data"]) == len(other.statements["data"]) - 1
    assert [each.stated for each in mine.statements["reward"] if each.what == "reward"] == [1]


def test_a_study_that_re_runs_no_paper() -> None:
    params = params_of("mini")
    assert against_paper(params, PROJECT) is None
    assert no_record(params, PROJECT).startswith("study mini re-runs no paper; studies that")
    assert "though it builds on arXiv 2504.01698" in no_record(params_of("grid"), PROJECT)


def test_settings_that_cells_do_not_share_are_all_named() -> None:
    params = params_of("tom-rl")
    key = "qwen25-7b-hi-exp"
    cell = params.trained_cell(key)
    train = cell.train.model_copy(update={"rollouts": 4})
    cells = {**params.cells, key: cell.model_copy(update={"train": train})}
    found = settings(params.model_copy(update={"cells": cells}))
    assert value_at(found, "train.rollouts") == [16, 4]
    assert isinstance(value_at(found, "train.nothing"), AbsentSetting)


def test_values_in_words() -> None:
    value: Any = {"a": [1, "x"], "b": None, "c": True, "d": []}
    assert in_words(value) == "a 1, x, b none, c true, d none"


def test_the_report_shows_what_is_not_as_stated(tmp_path: Path) -> None:
    results, reason = seeded([0.6]), "More <b>of</b> them."
    statement = {"where": "train.rollouts", "stated": 8, "here": 16, "reason": reason}
    against = compare(results.params, record_of(**statement))
    assert "1 otherwise, 0 left open there; each with its reason" in against.summary()
    write_report(replace(results, against=against), Recorded({}, {}), tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert "otherwise than stated (1)" in page and "More &lt;b&gt;of" in page
    written = json.loads((tmp_path / "results.json").read_text())
    assert written["against_paper"]["compared"][0]["reason"] == reason
    assert any("against p: 1 statement compared" in each for each in written["findings"])


def test_study_diff_as_typed(typed: Run, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = typed("tomrl", "study", "diff", "rlvr")
    assert shown.returncode == 0, shown.stderr
    for text in ("re-runs arXiv 2507.15788", "left open by the paper", "as stated", "reason  "):
        assert text in shown.stdout
    monkeypatch.chdir(checkout)
    machine = CliRunner().invoke(app, ["study", "diff", "rlvr", "--json"])
    statuses = {each["status"] for each in json.loads(machine.stdout)["compared"]}
    assert statuses == {"same", "differs", "open"}
    none = CliRunner().invoke(app, ["study", "diff", "mini", "--json"])
    assert "re-runs no paper" in json.loads(none.stdout)["says"]
    with edited(checkout / "studies" / "rlvr.yaml") as study:
        study["train"]["rollouts"] = 4
    stale = typed("tomrl", "study", "diff", "rlvr")
    assert stale.returncode == 2 and stale.stdout == ""
    assert "completions per prompt (train.rollouts): stated 8, the study has 4" in stale.stderr
