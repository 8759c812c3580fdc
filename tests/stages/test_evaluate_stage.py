"""The stage ``evaluate``: what it asks, what it keeps when it is stopped, what it writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from transformers import PreTrainedModel

from pipeline.analysis.grades import CORRECT, SAMPLES_RIGHT, read_grades
from pipeline.base.errors import UserError
from pipeline.config.expand import expand
from pipeline.config.study_files import find_study
from pipeline.data.build import select
from pipeline.engine import stream, written_out
from pipeline.engine.passes import Passes
from pipeline.engine.sampling import Sampling
from pipeline.evaluate.engine import Response
from pipeline.evaluate.hf_engine import TransformersEngine
from pipeline.evaluate.journal import Journal
from pipeline.evaluate.records import Evaluation
from pipeline.evaluate.runner import Asked, Asking
from pipeline.evaluate.runner import evaluate as run_model
from pipeline.evaluate.samples import first_samples
from pipeline.formats.files import folder_digests, read_lines
from pipeline.stages import evaluate, judge, train
from pipeline.stages.common import Stage
from tests.conftest import edited, shrink
from tests.stages.made import make_base

KEY = "nano-base"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout up to a base model."""
    root = tmp_path_factory.mktemp("a checkout")
    shrink(root)
    stage = stage_of(root)
    make_base(root, stage.params)
    train.main(Stage("train", root, stage.params), KEY)
    return root


def stage_of(root: Path, **settings: Any) -> Stage:
    """The stage of a study that evaluates so."""
    path = root / "studies" / "mini.yaml"
    kept = path.read_text()
    try:
        with edited(path) as study:
            study["evaluate"] |= settings
        return Stage("evaluate", root, expand(find_study(root, "mini")))
    finally:
        path.write_text(kept)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The prompts that answers were written down to."""
    names: list[str] = []
    write = Journal.write

    def noted(self: Journal, place: int, response: Response) -> None:
        write(self, place, response)
        names.append(self._names[place])

    monkeypatch.setattr(Journal, "write", noted)
    return names


def answered(stage: Stage) -> dict[str, str]:
    evaluate.main(stage, KEY)
    return folder_digests(stage.runs / KEY / "evaluate")


def test_a_side_check_is_asked_in_its_own_way_and_judged_by_nobody(root: Path) -> None:
    stage = stage_of(root, temperature=1, prompt="rlvr", think=False)
    (check,) = stage.params.suite.side_checks.values()
    answered(stage)
    judge.main(Stage("judge", root, stage.params), KEY)
    rows = pd.read_parquet(stage.runs / KEY / "evaluate" / "responses.parquet")
    found = list(rows[rows["task"] == "arithmetic"]["response"])
    (path,) = (root / "weights" / "mini" / KEY).iterdir()
    engine = TransformersEngine(path, root / "apart", 200, 1)
    asking = Asking(check.prompt, Sampling(check.max_new_tokens, temperature=0))
    questions = select(stage.raw, check, seed=0)
    (alone,) = run_model(engine, [Asked({"arithmetic": questions}, asking)], seed=0)
    assert found == [each.response.text for each in alone]
    verdicts = (stage.runs / KEY / "judge" / "verdicts.json").read_text()
    assert "arithmetic" not in verdicts


def test_answers_in_bfloat16_say_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, formats = written_out.passes_of, set[bool]()

    def watched(model: PreTrainedModel) -> Passes:
        formats.add(torch.is_autocast_enabled("cpu"))
        return plain(model)

    monkeypatch.setattr(stream, "passes_of", watched)
    for precision, said in (("bfloat16", "bfloat16"), ("float32", None)):
        stage = stage_of(root, precision=precision)
        answered(stage)
        path = stage.runs / KEY / "evaluate" / "metrics.json"
        assert Evaluation.read(path, "evaluate").precision == said
        assert formats == {said is not None}
        formats.clear()


@pytest.mark.parametrize("temperature", [0, 1])
def test_a_stopped_evaluation_asks_nothing_twice_and_ends_in_the_same_bytes(
    root: Path, written: list[str], monkeypatch: pytest.MonkeyPatch, temperature: float
) -> None:
    stage = stage_of(root, temperature=temperature, batch=4)
    undisturbed = answered(stage)
    asked = list(written)
    assert len(set(asked)) == len(asked)
    (row,) = read_lines(stage.logs / KEY / "evaluate" / "timing.jsonl")
    assert set(row) == {"step", "at", "seconds"} and row["seconds"] > 0
    assert not list((root / "work").glob("*/*.jsonl")), "what is finished is not kept"
    written.clear()

    def stopping(self: Journal, place: int, response: Response) -> None:
        if len(written) == len(asked) // 2:
            raise KeyboardInterrupt
        noted(self, place, response)

    noted = Journal.write
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "write", stopping)
        with pytest.raises(KeyboardInterrupt):
            evaluate.main(stage, KEY)
    path, *_ = (root / "work").glob("*/*.jsonl")
    path.write_text(path.read_text() + '{"prompt": "cut o')
    assert answered(stage) == undisturbed
    assert sorted(written) == sorted(asked)


def test_several_samples_stand_beside_the_first(root: Path) -> None:
    one, three = (stage_of(root, temperature=1, samples=count) for count in (1, 3))
    folder = one.runs / KEY / "evaluate"
    answered(one)
    first = {name: pd.read_parquet(folder / f"{name}.parquet") for name in ("responses", "grades")}
    before = Evaluation.read(folder / "metrics.json", "evaluate")
    answered(three)
    for name, frame in first.items():
        found = pd.read_parquet(folder / f"{name}.parquet")
        assert list(found.columns) == [*frame.columns[:2], "sample", *frame.columns[2:]]
        tasks, checked = (len(frame.query(f"task {of} 'arithmetic'")) for of in ("!=", "=="))
        assert list(found["sample"]) == [0, 1, 2] * tasks + [0] * checked
        pd.testing.assert_frame_equal(first_samples(found).drop(columns="sample"), frame)
    texts = pd.read_parquet(folder / "responses.parquet").groupby(["task", "id"])["response"]
    assert texts.nunique().max() == 3, "each sample has random numbers of its own"
    after = Evaluation.read(folder / "metrics.json", "evaluate")
    assert "samples" not in json.dumps(before.model_dump(mode="json"))
    assert after.tasks.pop("arithmetic") == before.tasks["arithmetic"], "it is answered once"
    for column, scores in after.tasks.items():
        assert scores.samples is not None and scores.samples.mean.count == 3 * scores.count
        assert set(scores.beside_accuracy()) >= {"mean@3", "pass@3", "majority@3"}
        alone = scores.model_copy(update={"samples": None})
        assert alone.model_dump() == before.tasks[column].model_dump()
    judge.main(Stage("judge", root, three.params), KEY)
    verdicts = (one.runs / KEY / "judge" / "verdicts.json").read_bytes()
    sampled = read_grades(folder / "grades.parquet", "evaluate")
    asked = sampled.set_index(["column", "id"]).groupby("figure")["value"]
    assert set(asked.get_group(SAMPLES_RIGHT).index) == set(asked.get_group(CORRECT).index)
    answered(one)
    judge.main(Stage("judge", root, one.params), KEY)
    assert (one.runs / KEY / "judge" / "verdicts.json").read_bytes() == verdicts
    alone = sampled[sampled["figure"] != SAMPLES_RIGHT].reset_index(drop=True)
    graded = read_grades(folder / "grades.parquet", "evaluate")
    pd.testing.assert_frame_equal(graded, alone, check_dtype=False, check_categorical=False)


def test_samples_that_cannot_differ_are_refused(root: Path) -> None:
    with pytest.raises(UserError, match=r"samples: 4 with temperature: 0.*name a temperature"):
        stage_of(root, temperature=0, samples=4)


def test_options_are_scored_beside_the_answers(root: Path) -> None:
    answers, options = stage_of(root), stage_of(root, scoring="options")
    folder = answers.runs / KEY / "evaluate"
    answered(answers)
    first = {name: pd.read_parquet(folder / f"{name}.parquet") for name in ("responses", "grades")}
    before = Evaluation.read(folder / "metrics.json", "evaluate")
    answered(options)
    names = {
        "responses": ["options", "option_logprobs"],
        "grades": ["options", "options by length"],
    }
    for name, frame in first.items():
        found = pd.read_parquet(folder / f"{name}.parquet")
        scored = found[names[name]].notna()
        assert scored.all(axis=1).equals(found["task"] != "arithmetic")
        pd.testing.assert_frame_equal(found.drop(columns=names[name]), frame)
    after = Evaluation.read(folder / "metrics.json", "evaluate")
    beside = read_grades(folder / "grades.parquet", "evaluate")
    means = beside.groupby(["column", "figure"])["value"].mean()
    for column, scores in after.tasks.items():
        if scores.options is not None:
            for name, share in scores.options.figures().items():
                assert means[column, name] == pytest.approx(share)
        alone = scores.model_copy(update={"options": None})
        assert alone.model_dump() == before.tasks[column].model_dump()
    assert {column for column, scores in after.tasks.items() if scores.options} == set(
        options.params.suite.tasks
    )
